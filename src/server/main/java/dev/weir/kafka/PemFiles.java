package dev.weir.kafka;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.Signature;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/**
 * Reads certificates and private keys from PEM files (RFC 7468). The messages of all {@link IOException}s start with
 * the file.
 */
public final class PemFiles {

    private static final long MAX_BYTES = 1_000_000;
    private static final Pattern KEY =
            Pattern.compile("-----BEGIN PRIVATE KEY-----([A-Za-z0-9+/=\\s]+)-----END PRIVATE KEY-----");
    private static final Pattern OTHER_KEY = Pattern.compile("-----BEGIN ([A-Z ]*PRIVATE KEY)-----");

    private PemFiles() {}

    /**
     * Returns the bytes of a file.
     *
     * @throws IOException if the file does not exist, cannot be read, or has more than 1,000,000 bytes
     */
    public static byte[] read(Path file) throws IOException {
        try {
            if (Files.size(file) <= MAX_BYTES) {
                return Files.readAllBytes(file);
            }
        } catch (NoSuchFileException e) {
            throw new IOException(file + ": no such file", e);
        } catch (IOException e) {
            throw new IOException(file + ": cannot be read", e);
        }
        throw new IOException(file + ": is too large for a PEM file");
    }

    /**
     * Returns the certificates of a file in order.
     *
     * @param pem the bytes of the file, as returned by {@link #read}
     * @throws IOException if there is no certificate, or one cannot be read
     */
    public static List<X509Certificate> certificates(Path file, byte[] pem) throws IOException {
        try {
            List<X509Certificate> certificates =
                    CertificateFactory.getInstance("X.509").generateCertificates(new ByteArrayInputStream(pem)).stream()
                            .map(X509Certificate.class::cast)
                            .toList();
            if (certificates.isEmpty()) {
                throw new IOException(file + ": has no certificate");
            }
            return certificates;
        } catch (GeneralSecurityException e) {
            throw new IOException(file + ": has no certificate in PEM (BEGIN CERTIFICATE) that can be read", e);
        }
    }

    /**
     * Returns the private key of a file.
     *
     * @param pem the bytes of the file, as returned by {@link #read}
     * @param certificate the certificate that the key must belong to
     * @throws IOException if there is no such key, or it cannot be read
     */
    public static PrivateKey key(Path file, byte[] pem, X509Certificate certificate) throws IOException {
        String text = new String(pem, StandardCharsets.ISO_8859_1);
        Matcher key = KEY.matcher(text);
        if (!key.find()) {
            Matcher other = OTHER_KEY.matcher(text);
            throw new IOException(file
                    + (other.find()
                            ? ": has the format " + other.group(1)
                                    + ", not PRIVATE KEY (PKCS #8 without a password): convert it with"
                                    + " `openssl pkcs8 -topk8 -nocrypt -in " + file + " -out NEW_FILE`"
                            : ": has no private key in PEM (BEGIN PRIVATE KEY)"));
        }
        PublicKey publicKey = certificate.getPublicKey();
        try {
            PrivateKey read = KeyFactory.getInstance(publicKey.getAlgorithm())
                    .generatePrivate(
                            new PKCS8EncodedKeySpec(Base64.getMimeDecoder().decode(key.group(1))));
            if (match(read, publicKey)) {
                return read;
            }
        } catch (GeneralSecurityException | IllegalArgumentException e) {
            throw new IOException(file + ": is not the key of the certificate, or is damaged", e);
        }
        throw new IOException(file + ": is not the key of the certificate");
    }

    /** Returns whether a signature of the private key can be verified with the public key. */
    private static boolean match(PrivateKey key, PublicKey publicKey) throws GeneralSecurityException {
        Signature signature = Signature.getInstance(
                switch (publicKey.getAlgorithm()) {
                    case "RSA" -> "SHA256withRSA";
                    case "EC" -> "SHA256withECDSA";
                    default -> publicKey.getAlgorithm();
                });
        byte[] content = "weir".getBytes(StandardCharsets.US_ASCII);
        signature.initSign(key);
        signature.update(content);
        byte[] signed = signature.sign();
        signature.initVerify(publicKey);
        signature.update(content);
        return signature.verify(signed);
    }

    /**
     * Returns an SSL context that trusts the certificate authorities of a file.
     *
     * @throws IOException if the file has no certificate, or one cannot be read
     */
    public static SSLContext trusting(Path file) throws IOException {
        return trusting(certificates(file, read(file)));
    }

    /** Returns an SSL context that trusts these certificate authorities. */
    public static SSLContext trusting(List<X509Certificate> authorities) throws IOException {
        try {
            KeyStore trusted = empty();
            for (X509Certificate authority : authorities) {
                trusted.setCertificateEntry(String.valueOf(trusted.size()), authority);
            }
            TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            trust.init(trusted);
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(null, trust.getTrustManagers(), null);
            return context;
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Returns a key store with one entry and no password. */
    public static KeyStore keyStore(PrivateKey key, List<X509Certificate> chain) throws IOException {
        try {
            KeyStore store = empty();
            store.setKeyEntry("service", key, new char[0], chain.toArray(Certificate[]::new));
            return store;
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }

    private static KeyStore empty() throws IOException, GeneralSecurityException {
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, null);
        return store;
    }
}
