package beside;

import com.espertech.esper.common.client.EventSender;
import com.espertech.esper.runtime.client.EPEventService;
import com.espertech.esper.runtime.client.EPRuntime;
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
    private static final long AFTER = 86_400_000; // a day: what the end of the stream completes is due by then
    private static final double ROUND = 0.5; // seconds at least, since the clock of the process ticks every hundredth
    private static final int TIMED = 100_000; // single events
    private static final OperatingSystemMXBean PROCESS =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    private final Events events;
    private final Program program;

    private Main(Events events, Program program) {
        this.events = events;
        this.program = program;
    }

    public static void main(String[] arguments) throws Exception {
        Events events = Events.read(Path.of(arguments[0]));
        String epl = Files.readString(Path.of(arguments[1]));
        long begin = cpu();
        Program program = new Program(epl, events, Integer.parseInt(arguments[2]));
        long compiled = cpu();
        program.deploy(events.times()[0], new Totals(null)).destroy();
        long deployed = cpu();
        Main main = new Main(events, program);
        List<Double> rounds = main.rounds(Double.parseDouble(arguments[4]));
        long[] single = main.single();
        List<String> checks = new ArrayList<>();
        String summed = arguments[3].equals("-") ? null : arguments[3];
        for (String count : Arrays.asList(arguments).subList(5, arguments.length)) {
            Totals totals = main.whole(Integer.parseInt(count), summed);
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

    /** CPU seconds of the process for the whole stream, at least two times. */
    private List<Double> rounds(double seconds) throws Exception {
        List<Double> taken = new ArrayList<>();
        for (double spent = 0; taken.size() < 2 || spent < seconds; ) {
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

    private double stream() throws Exception {
        EPRuntime runtime = program.deploy(events.times()[0], new Totals(null));
        Feed feed = new Feed(runtime);
        System.gc(); // of what was before
        long begin = cpu();
        feed.send(0, events.count());
        double taken = (cpu() - begin) / 1e9;
        runtime.destroy();
        return taken;
    }

    /** Nanoseconds that each of the first events takes, in order of size. */
    private long[] single() throws Exception {
        EPRuntime runtime = program.deploy(events.times()[0], new Totals(null));
        Feed feed = new Feed(runtime);
        long[] taken = new long[Math.min(TIMED, events.count())];
        for (int place = 0; place < taken.length; place++) {
            long begin = System.nanoTime();
            feed.send(place, place + 1);
            taken[place] = System.nanoTime() - begin;
        }
        runtime.destroy();
        Arrays.sort(taken);
        return taken;
    }

    private Totals whole(int count, String summed) throws Exception {
        Totals totals = new Totals(summed);
        EPRuntime runtime = program.deploy(events.times()[0], totals);
        new Feed(runtime).send(0, count);
        runtime.getEventService().advanceTime(events.times()[count - 1] + AFTER);
        runtime.destroy();
        return totals;
    }

    private static long cpu() {
        return PROCESS.getProcessCpuTime();
    }

    private final class Feed {
        private final EPEventService service;
        private final EventSender[] senders;
        private long now;

        Feed(EPRuntime runtime) {
            service = runtime.getEventService();
            senders = events.types().stream().map(service::getEventSender).toArray(EventSender[]::new);
            now = events.times()[0];
        }

        void send(int from, int to) {
            for (int place = from; place < to; place++) {
                long time = events.times()[place];
                if (time != now) {
                    now = time;
                    service.advanceTime(time);
                }
                senders[events.kinds()[place]].sendEvent(events.rows()[place]);
            }
        }
    }
}
