package beside;

import com.espertech.esper.common.client.EventBean;
import com.espertech.esper.runtime.client.EPRuntime;
import com.espertech.esper.runtime.client.EPStatement;
import com.espertech.esper.runtime.client.UpdateListener;

/** Counts outputs and, if asked to, adds up one of their properties. */
final class Totals implements UpdateListener {
    private final String summed;
    private long outputs;
    private double sum;

    Totals(String summed) {
        this.summed = summed;
    }

    @Override
    public void update(EventBean[] inserted, EventBean[] removed, EPStatement statement, EPRuntime runtime) {
        if (inserted == null) {
            return;
        }
        outputs += inserted.length;
        if (summed != null && statement.getEventType().isProperty(summed)) {
            for (EventBean each : inserted) {
                sum += ((Number) each.get(summed)).doubleValue();
            }
        }
    }

    long outputs() {
        return outputs;
    }

    double sum() {
        return sum;
    }
}
