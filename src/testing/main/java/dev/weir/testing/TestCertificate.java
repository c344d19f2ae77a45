package dev.weir.testing;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.Base64;

/**
 * A self-signed certificate for this machine, created by the JDK's {@code keytool}, in PEM files.
 *
 * @param certificate the file of the certificate, which is also that of its issuer
 * @param key the file of the private key
 */
public record TestCertificate(Path certificate, Path key) {

    private static final String PASSWORD = "store-password";
    private static final Base64.Encoder LINES = Base64.getMimeEncoder(64, new byte[] {'\n'});

    /**
     * Creates a certificate.
     *
     * @param algorithm an algorithm of {@code keytool -keyalg}: {@code EC}, {@code RSA} or {@code Ed25519}
     */
    public static TestCertificate make(Path directory, String name, String algorithm)
            throws IOException, InterruptedException, GeneralSecurityException {
        Path store = directory.resolve(name + ".p12");
        Path tool = Path.of(System.getProperty("java.home"), "bin", "keytool");
        Process made = new ProcessBuilder((tool + " -J-XX:TieredStopAtLevel=1 -genkeypair -alias one -keyalg "
                                + algorithm + " -dname CN=" + name
                                + " -validity 2 -ext san=dns:localhost,ip:127.0.0.1 -storetype PKCS12 -keystore "
                                + store + " -storepass " + PASSWORD)
                        .split(" "))
                .redirectErrorStream(true)
                .start();
        String said = new String(made.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        if (made.waitFor() != 0) {
            throw new IOException("keytool: " + said);
        }
        KeyStore keys = KeyStore.getInstance(store.toFile(), PASSWORD.toCharArray());
        byte[] certificate = keys.getCertificate("one").getEncoded();
        byte[] key = keys.getKey("one", PASSWORD.toCharArray()).getEncoded();
        return new TestCertificate(
                Files.writeString(directory.resolve(name + ".crt"), pem("CERTIFICATE", certificate)),
                Files.writeString(directory.resolve(name + ".key"), pem("PRIVATE KEY", key)));
    }

    private static String pem(String label, byte[] content) {
        return "-----BEGIN " + label + "-----\n" + LINES.encodeToString(content) + "\n-----END " + label + "-----\n";
    }
}
