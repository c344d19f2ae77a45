package dev.weir.cli;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class UsageErrorsTest {

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            policies validate             | weir policies validate: FILE is missing: weir policies validate FILE
            policies import-envoy         | weir policies import-envoy: FILE is missing: weir policies import-envoy FILE…
            policies delete               | weir policies delete: ID is missing: weir policies delete ID…
            backtest -p a                 | weir backtest: --requests is missing: weir backtest --policies FILE --requests FILE
            backtest                      | weir backtest: --policies and --requests are missing: weir backtest --policies FILE --requests FILE
            usage                         | weir usage: CLIENT is missing: weir usage CLIENT
            policies apply f --reason     | weir policies apply: --reason needs a value: --reason TEXT
            send --timeout x              | weir send: --timeout must be a duration such as 500ms, 10s, 1m, 2h or 1d, is 'x'
            send --timeout 30             | weir send: --timeout must be a duration such as 500ms, 10s, 1m, 2h or 1d, is '30'
            policies reset a --timeout 30 | weir policies reset: --timeout must be a duration such as 500ms, 10s, 1m, 2h or 1d, is '30'
            dead-letters list --most x    | weir dead-letters list: --most must be a whole number, is 'x'
            dead-letters list --most 1.5  | weir dead-letters list: --most must be a whole number, is '1.5'
            dead-letters list --most 99999999999 | weir dead-letters list: --most must be a whole number, at most 2147483647, is '99999999999'
            run --service-port x          | weir run: --service-port must be a whole number, is 'x'
            watch decisions -n x          | weir watch decisions: --count must be a whole number, is 'x'
            watch decisions -n 9223372036854775808 | weir watch decisions: --count must be a whole number, at most 9223372036854775807, is '9223372036854775808'
            watch decisions --timeout 30  | weir watch decisions: --timeout must be a duration such as 500ms, 10s, 1m, 2h or 1d, is '30'
            audit --from yesterday        | weir audit: --from must be a time such as 2026-01-31T12:00:00Z, is 'yesterday'
            audit --lag soon              | weir audit: --lag must be a duration such as 500ms, 10s, 1m, 2h or 1d, is 'soon'
            queues -o csv                 | weir queues: --output must be one of table, json, yaml, is 'csv'
            run --overwrite               | weir run: --overwrite needs a policy file: add --policies (try weir run --help)
            run --log-format xml          | weir run: --log-format must be one of text, json, is 'xml'
            usage a --attribute b         | weir usage: --attribute must be NAME=VALUE, is 'b'
            policies apply f --dry-run=no | weir policies apply: --dry-run must be true or false, is 'no'
            policies apply                | weir policies apply: FILE is missing: weir policies apply FILE
            policies apply a -f b         | weir policies apply: FILE and --file are the same: give one of them (try weir policies apply --help)
            policies get                  | weir policies get: ID is missing: weir policies get ID…
            policies get a b --at-version 1 | weir policies get: --at-version needs a single ID (try weir policies get --help)
            policies restore              | weir policies restore: ID is missing: weir policies restore ID VERSION
            policies restore a x          | weir policies restore: VERSION must be a whole number, is 'x'
            policies export -o table      | weir policies export: --output must be one of yaml, json, is 'table'
            watch decisions --outcome no  | weir watch decisions: --outcome must be one of allowed, denied, queued, expired, is 'no'
            top --since 30s               | weir top: --since must be 1m to 1d, is 30s (try weir top --help)
            top --since 2d                | weir top: --since must be 1m to 1d, is 2d (try weir top --help)
            top --count 0                 | weir top: --count must be 1 or more, is 0 (try weir top --help)
            top --every 10ms              | weir top: --every must be 1s or more, is 10ms (try weir top --help)
            top --most 0                  | weir top: --most must be 1 to 1000, is 0 (try weir top --help)
            top nodes                     | weir top: VIEW must be one of clients, policies, is 'nodes'
            policies validate a b         | weir policies validate: unexpected argument 'b' (try weir policies validate --help)
            """)
    void a_missing_or_invalid_value_is_one_line_with_the_fix(String command, String line) {
        assertThat(Shell.run(command.split(" "))).isEqualTo(new CapturedRun(2, "", line + "\n"));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            polices                       | weir: unknown command 'polices'; did you mean "policies"?
            polices list                  | weir: unknown command 'polices'; did you mean "policies"?
            dead                          | weir: unknown command 'dead'; did you mean "dead-letters"?
            bogus                         | weir: unknown command 'bogus' (try weir --help)
            policies vaildate f.yaml      | weir policies: unknown command 'vaildate'; did you mean "validate"?
            watch decision                | weir watch: unknown command 'decision'; did you mean "decisions"?
            dead-letters lst              | weir dead-letters: unknown command 'lst'; did you mean "list"?
            help policies aply            | weir policies: unknown command 'aply'; did you mean "apply"?
            help send it                  | weir send: unexpected argument 'it' (try weir send --help)
            help polices                  | weir: unknown command 'polices'; did you mean "policies"?
            --verison                     | weir: unknown option '--verison'; did you mean "--version"?
            run --devport 1               | weir run: unknown option '--devport'; did you mean "--dev-port"?
            run --devport=1               | weir run: unknown option '--devport'; did you mean "--dev-port"?
            policies list --bootstrap a:1 | weir policies list: unknown option '--bootstrap'; did you mean "--bootstrap-server"?
            policies apply --dryrun f     | weir policies apply: unknown option '--dryrun'; did you mean "--dry-run"?
            policies --dry-run            | weir policies: unknown option '--dry-run' (try weir policies --help)
            send --bogus                  | weir send: unknown option '--bogus' (try weir send --help)
            """)
    void a_mistyped_command_or_option_is_one_line_with_a_suggestion(String command, String line) {
        assertThat(Shell.run(command.split(" "))).isEqualTo(new CapturedRun(2, "", line + "\n"));
    }
}
