package beside;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A stream in memory, from a file of comma-separated values: time in milliseconds, type, and attributes.
 *
 * <p>The header names an attribute with its class, as in {@code value:double}. An empty field is null.
 */
record Events(long[] times, int[] kinds, Object[][] rows, List<String> types, String[] names, Object[] classes) {

    static Events read(Path file) throws IOException {
        try (BufferedReader lines = Files.newBufferedReader(file)) {
            String[] header = lines.readLine().split(",");
            String[] names = new String[header.length - 2];
            Object[] classes = new Object[names.length];
            for (int place = 0; place < names.length; place++) {
                String[] parts = header[place + 2].split(":");
                names[place] = parts[0];
                classes[place] = classOf(parts[1]);
            }
            List<Long> times = new ArrayList<>();
            List<Integer> kinds = new ArrayList<>();
            List<Object[]> rows = new ArrayList<>();
            Map<String, Integer> types = new HashMap<>();
            List<String> ordered = new ArrayList<>();
            Map<String, String> texts = new HashMap<>(); // equal texts are one object, as in a column with a dictionary
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                String[] fields = line.split(",", -1);
                times.add(Long.parseLong(fields[0]));
                kinds.add(types.computeIfAbsent(fields[1], type -> {
                    ordered.add(type);
                    return ordered.size() - 1;
                }));
                Object[] row = new Object[names.length];
                for (int place = 0; place < row.length; place++) {
                    row[place] = value(fields[place + 2], classes[place], texts);
                }
                rows.add(row);
            }
            return new Events(
                    times.stream().mapToLong(Long::longValue).toArray(),
                    kinds.stream().mapToInt(Integer::intValue).toArray(),
                    rows.toArray(new Object[0][]),
                    ordered,
                    names,
                    classes);
        }
    }

    int count() {
        return times.length;
    }

    private static Object classOf(String name) {
        return switch (name) {
            case "long" -> Long.class;
            case "double" -> Double.class;
            case "string" -> String.class;
            default -> throw new IllegalArgumentException("no class for " + name);
        };
    }

    private static Object value(String text, Object kind, Map<String, String> texts) {
        if (text.isEmpty()) {
            return null;
        } else if (kind == Long.class) {
            return Long.valueOf(text);
        } else if (kind == Double.class) {
            return Double.valueOf(text);
        }
        return texts.computeIfAbsent(text, same -> same);
    }
}
