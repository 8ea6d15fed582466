package beside;

import com.espertech.esper.common.client.EventSender;
import com.espertech.esper.runtime.client.EPEventService;
import com.espertech.esper.runtime.client.EPRuntime;

/** Sends the stream to a runtime, any number of times: each begins a day after the one before, when no state is left. */
final class Feed {
    private static final long DAY = 86_400_000;

    private final Events events;
    private final EPEventService service;
    private final EventSender[] senders;
    private long now;
    private long later; // than the times in the file

    Feed(EPRuntime runtime, Events events) {
        this.events = events;
        service = runtime.getEventService();
        senders = events.types().stream().map(service::getEventSender).toArray(EventSender[]::new);
        now = service.getCurrentTime();
    }

    /** Events from one place to another, and the time of each that differs from the one before. */
    void send(int from, int to) {
        for (int place = from; place < to; place++) {
            long time = events.times()[place] + later;
            if (time != now) {
                now = time;
                service.advanceTime(time);
            }
            senders[events.kinds()[place]].sendEvent(events.rows()[place]);
        }
    }

    /** Lets a day pass, so that everything completes or expires that waits. */
    void end() {
        now += DAY;
        service.advanceTime(now);
        later = now - events.times()[0];
    }
}
