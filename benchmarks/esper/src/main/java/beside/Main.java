package beside;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * Runs EPL over a file of events, and prints as JSON what that took.
 *
 * <p>Arguments: the file of events, the file of EPL, its copies (0: no parameter), the property to add up (or "-"), the
 * seconds to spend on rounds, and numbers of events after which to say how many outputs there are once the stream ends.
 */
public final class Main {
    private static final double ROUND = 0.5; // seconds at least, since the clock of the process ticks every hundredth
    private static final int LEAST = 4; // rounds
    private static final int TIMED = 100_000; // single events
    private static final OperatingSystemMXBean PROCESS =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    private final Feed feed;
    private final int events;

    private Main(Feed feed, int events) {
        this.feed = feed;
        this.events = events;
    }

    public static void main(String[] arguments) throws Exception {
        Events events = Events.read(Path.of(arguments[0]));
        String epl = Files.readString(Path.of(arguments[1]));
        Totals totals = new Totals();
        long begin = cpu();
        Program program = new Program(epl, events, Integer.parseInt(arguments[2]));
        long compiled = cpu();
        Feed feed = new Feed(program.deploy(events.times()[0], totals), events);
        long deployed = cpu();
        Main main = new Main(feed, events.count());
        List<Double> rounds = main.rounds(Double.parseDouble(arguments[4]));
        long[] single = main.single();
        List<String> checks = new ArrayList<>();
        for (String count : Arrays.asList(arguments).subList(5, arguments.length)) {
            totals.reset(arguments[3]);
            feed.send(0, Integer.parseInt(count));
            feed.end();
            checks.add(String.format(Locale.ROOT, "\"%s\": [%d, %s]", count, totals.outputs(), totals.sum()));
        }
        System.out.printf(
                Locale.ROOT,
                "{\"compile\": %f, \"deploy\": %f, \"rounds\": %s, \"p50\": %f, \"p99\": %f, \"checks\": {%s}}%n",
                (compiled - begin) / 1e9,
                (deployed - compiled) / 1e9,
                rounds,
                single[single.length / 2] / 1e3,
                single[(int) (single.length * 0.99)] / 1e3,
                String.join(", ", checks));
        System.exit(0); // threads of the runtime may live on
    }

    /** CPU seconds of the process for the whole stream, often enough for the compiler to have done its work. */
    private List<Double> rounds(double seconds) {
        List<Double> taken = new ArrayList<>();
        for (double spent = 0; taken.size() < LEAST || spent < seconds; ) {
            double round = 0;
            int streams = 0;
            while (round < ROUND) {
                round += stream();
                streams++;
            }
            taken.add(round / streams);
            spent += round;
        }
        return taken;
    }

    private double stream() {
        long begin = cpu();
        feed.send(0, events);
        double taken = (cpu() - begin) / 1e9;
        feed.end();
        return taken;
    }

    /** Nanoseconds that each of the first events takes, in order of size. */
    private long[] single() {
        long[] taken = new long[Math.min(TIMED, events)];
        for (int place = 0; place < taken.length; place++) {
            long begin = System.nanoTime();
            feed.send(place, place + 1);
            taken[place] = System.nanoTime() - begin;
        }
        feed.end();
        Arrays.sort(taken);
        return taken;
    }

    private static long cpu() {
        return PROCESS.getProcessCpuTime();
    }
}
