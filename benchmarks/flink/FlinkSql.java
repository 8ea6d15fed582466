import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.types.Row;
import org.apache.flink.util.CloseableIterator;

/** Runs a query of Flink SQL over CSV files of ticks, one after the other, and prints for each the CPU time of the
 *  whole process in nanoseconds and the number of rows found: FlinkSql QUERY_FILE CSV_FILE... */
public class FlinkSql {
    public static void main(String[] arguments) throws Exception {
        String query = Files.readString(Path.of(arguments[0]));
        var bean = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        for (int file = 1; file < arguments.length; file++) {
            long before = bean.getProcessCpuTime();
            Configuration configuration = new Configuration();
            configuration.setString("parallelism.default", "1");
            TableEnvironment tables =
                TableEnvironment.create(
                    EnvironmentSettings.newInstance().inStreamingMode().withConfiguration(configuration).build());
            tables.executeSql(
                "CREATE TABLE ticks (sym BIGINT, ts TIMESTAMP(3), price DOUBLE, q BIGINT, WATERMARK FOR ts AS ts)"
                    + " WITH ('connector' = 'filesystem', 'format' = 'csv', 'path' = 'file://" + arguments[file] + "')");
            long found = 0;
            try (CloseableIterator<Row> rows = tables.sqlQuery(query).execute().collect()) {
                while (rows.hasNext()) {
                    rows.next();
                    found++;
                }
            }
            System.out.println((bean.getProcessCpuTime() - before) + " " + found);
        }
    }
}
