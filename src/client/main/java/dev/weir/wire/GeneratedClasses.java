package dev.weir.wire;

import org.apache.avro.Schema;
import org.apache.avro.data.TimeConversions.TimestampMillisConversion;
import org.apache.avro.data.TimeConversions.TimestampNanosConversion;
import org.apache.avro.io.DatumReader;
import org.apache.avro.specific.SpecificData;
import org.apache.avro.specific.SpecificDatumReader;

/**
 * Avro's model of the classes that are generated from Weir's schemas. It finds no other classes, whatever names a schema
 * contains.
 */
// Avro's own model loads a class by its name, but only if the system property org.apache.avro.SERIALIZABLE_PACKAGES
// names its package when Avro is loaded. With this model, applications need not set it.
final class GeneratedClasses extends SpecificData {

    private static final GeneratedClasses MODEL = new GeneratedClasses();

    private final String namespace = dev.weir.avro.Header.class.getPackageName();

    private GeneratedClasses() {
        super(GeneratedClasses.class.getClassLoader());
        addLogicalTypeConversion(new TimestampMillisConversion());
        addLogicalTypeConversion(new TimestampNanosConversion());
    }

    /** Returns a reader of records that were written with one schema and are wanted with another. */
    static <T> DatumReader<T> reader(Schema written, Schema wanted) {
        return new SpecificDatumReader<>(written, wanted, MODEL);
    }

    @Override
    public Class<?> getClass(Schema schema) {
        return switch (schema.getType()) {
            case RECORD, ENUM, FIXED ->
                namespace.equals(schema.getNamespace()) ? generated(schema.getFullName()) : null;
            default -> super.getClass(schema);
        };
    }

    private Class<?> generated(String name) {
        try {
            return Class.forName(name, true, getClassLoader());
        } catch (ClassNotFoundException e) {
            return null; // as in Avro's model: the record is read as a generic one
        }
    }
}
