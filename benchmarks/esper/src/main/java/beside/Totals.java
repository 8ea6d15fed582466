package beside;

import com.espertech.esper.common.client.EventBean;
import com.espertech.esper.runtime.client.EPRuntime;
import com.espertech.esper.runtime.client.EPStatement;
import com.espertech.esper.runtime.client.UpdateListener;

/** Counts outputs and, from a reset that names one, adds up a property of those that have it. */
final class Totals implements UpdateListener {
    private String summed = "-";
    private long outputs;
    private double sum;

    @Override
    public void update(EventBean[] inserted, EventBean[] removed, EPStatement statement, EPRuntime runtime) {
        if (inserted == null) {
            return;
        }
        outputs += inserted.length;
        if (!summed.equals("-") && statement.getEventType().isProperty(summed)) {
            for (EventBean each : inserted) {
                sum += ((Number) each.get(summed)).doubleValue();
            }
        }
    }

    void reset(String summed) {
        this.summed = summed;
        outputs = 0;
        sum = 0;
    }

    long outputs() {
        return outputs;
    }

    double sum() {
        return sum;
    }
}
