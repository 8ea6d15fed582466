package beside;

import com.espertech.esper.common.client.EPCompiled;
import com.espertech.esper.common.client.configuration.Configuration;
import com.espertech.esper.compiler.client.CompilerArguments;
import com.espertech.esper.compiler.client.EPCompileException;
import com.espertech.esper.compiler.client.EPCompilerProvider;
import com.espertech.esper.runtime.client.DeploymentOptions;
import com.espertech.esper.runtime.client.EPDeployException;
import com.espertech.esper.runtime.client.EPDeployment;
import com.espertech.esper.runtime.client.EPRuntime;
import com.espertech.esper.runtime.client.EPRuntimeProvider;
import com.espertech.esper.runtime.client.EPStatement;

/** A compiled module of EPL; with copies, one whose parameter {@code n} counts from 0. */
final class Program {
    private final Configuration configuration;
    private final EPCompiled compiled;
    private final int copies;

    Program(String epl, Events events, int copies) throws EPCompileException {
        this.copies = copies;
        configuration = new Configuration();
        for (String type : events.types()) {
            configuration.getCommon().addEventType(type, events.names(), events.classes());
        }
        // One thread sends events and says what time it is, so nothing needs to be put in order between threads.
        var threading = configuration.getRuntime().getThreading();
        threading.setInternalTimerEnabled(false);
        threading.setListenerDispatchPreserveOrder(false);
        threading.setInsertIntoDispatchPreserveOrder(false);
        configuration.getRuntime().getExecution().setPrioritized(epl.contains("@Priority"));
        compiled = EPCompilerProvider.getCompiler().compile(epl, new CompilerArguments(configuration));
    }

    /** A runtime of its own, at a time, with everything deployed. */
    EPRuntime deploy(long time, Totals totals) throws EPDeployException {
        EPRuntime runtime = EPRuntimeProvider.getRuntime("beside", configuration);
        runtime.getEventService().advanceTime(time);
        for (int number = 0; number < Math.max(1, copies); number++) {
            Integer parameter = number;
            DeploymentOptions options = new DeploymentOptions();
            if (copies > 0) {
                options.setStatementSubstitutionParameter(statement -> statement.setObject("n", parameter));
            }
            EPDeployment deployment = runtime.getDeploymentService().deploy(compiled, options);
            for (EPStatement statement : deployment.getStatements()) {
                if (statement.getEventType() != null && !statement.getName().startsWith("state")) {
                    statement.addListener(totals);
                }
            }
        }
        return runtime;
    }
}
