package dev.weir.console;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;

/**
 * Standard output, whose write errors are thrown as {@link OutputException}. A {@link PrintWriter} catches each {@link
 * IOException}, but passes this exception on, so that a command ends at the first write that fails.
 */
public final class StandardOutput extends OutputStream {

    private final OutputStream out = new FileOutputStream(FileDescriptor.out);

    private StandardOutput() {}

    /** Returns a writer that is flushed after each line. */
    public static PrintWriter writer() {
        return new TerminalWriter(new StandardOutput(), Terminal::isStandardOutput, System.getenv());
    }

    @Override
    public void write(int b) {
        write(new byte[] {(byte) b}, 0, 1);
    }

    @Override
    public void write(byte[] bytes, int offset, int length) {
        try {
            out.write(bytes, offset, length);
        } catch (IOException e) {
            throw new OutputException(e);
        }
    }
}
