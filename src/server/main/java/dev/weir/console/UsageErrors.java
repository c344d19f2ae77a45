package dev.weir.console;

import dev.weir.fault.SafeText;
import dev.weir.fault.Spelling;
import java.math.BigInteger;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import picocli.CommandLine;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;

/** Describes wrong usage of a command line in one line: what is wrong and what to do. */
final class UsageErrors {

    /** A shorter beginning of a name is not completed to it. */
    private static final int MIN_PREFIX = 3;

    private UsageErrors() {}

    /** Returns the line to print, which begins with the command. */
    static String line(CommandLine.ParameterException e) {
        CommandSpec command = e.getCommandLine().getCommandSpec();
        return SafeText.of(command.qualifiedName() + ": " + message(e, command));
    }

    private static String message(CommandLine.ParameterException e, CommandSpec command) {
        if (e instanceof CommandLine.UnmatchedArgumentException unmatched) {
            return unknown(unmatched.getUnmatched().get(0), command);
        }
        if (e instanceof CommandLine.MissingParameterException missing) {
            return missing(missing, command);
        }
        boolean isBadValue = e.getArgSpec() != null && e.getValue() != null;
        if (isBadValue && !(e instanceof CommandLine.OverwrittenOptionException)) {
            int own = e.getMessage().indexOf(": must be "); // the message of a converter of Weir
            if (own >= 0) {
                return name(e.getArgSpec()) + e.getMessage().substring(own + 1);
            }
            return name(e.getArgSpec()) + " must be " + expected(e.getArgSpec(), e.getValue()) + ", is '" + e.getValue()
                    + "'";
        }
        return withHelp(e.getMessage(), command);
    }

    private static String withHelp(String message, CommandSpec command) {
        return message + " (try " + command.qualifiedName() + " --help)";
    }

    private static String unknown(String word, CommandSpec command) {
        boolean isOption = word.startsWith("-");
        List<String> known = isOption ? List.copyOf(command.optionsMap().keySet()) : subcommandsWithoutAliases(command);
        if (!isOption && known.isEmpty()) {
            return withHelp("unexpected argument '" + word + "'", command);
        }
        String bare = isOption ? word.replaceFirst("=.*", "") : word;
        String message = "unknown " + (isOption ? "option" : "command") + " '" + bare + "'";
        String nearest = nearest(bare, known);
        return nearest == null ? withHelp(message, command) : message + "; did you mean \"" + nearest + "\"?";
    }

    private static List<String> subcommandsWithoutAliases(CommandSpec command) {
        return command.subcommands().entrySet().stream()
                .filter(nested -> nested.getKey().equals(nested.getValue().getCommandName()))
                .map(Map.Entry::getKey)
                .toList();
    }

    /** Returns the known word that a word was meant to be; null if there is none. */
    private static String nearest(String word, List<String> known) {
        return known.stream()
                .filter(name -> word.replace("-", "").length() >= MIN_PREFIX && name.startsWith(word))
                .findFirst()
                .orElseGet(() -> Spelling.nearest(word, known));
    }

    private static String missing(CommandLine.MissingParameterException e, CommandSpec command) {
        ArgSpec first = e.getMissing().get(0);
        if (first instanceof OptionSpec option && !e.getMessage().startsWith("Missing required option")) {
            return name(option) + " needs a value: " + usage(option);
        }
        List<ArgSpec> missing = e.getMissing();
        return missing.stream().map(UsageErrors::name).collect(Collectors.joining(" and "))
                + (missing.size() == 1 ? " is missing: " : " are missing: ")
                + usage(command, missing);
    }

    /** Returns the command with its required options and parameters, and those that are missing. */
    private static String usage(CommandSpec command, List<ArgSpec> missing) {
        List<String> words = new ArrayList<>(List.of(command.qualifiedName()));
        for (OptionSpec option : command.options()) {
            if (option.required()) {
                words.add(usage(option));
            }
        }
        for (ArgSpec parameter : command.positionalParameters()) {
            if (parameter.required() || missing.contains(parameter)) {
                words.add(parameter.paramLabel() + (parameter.arity().max() > 1 ? "…" : ""));
            }
        }
        return String.join(" ", words);
    }

    private static String usage(OptionSpec option) {
        return option.longestName() + " " + option.paramLabel();
    }

    private static String name(ArgSpec argument) {
        return argument instanceof OptionSpec option ? option.longestName() : argument.paramLabel();
    }

    /** Returns what the value of an option or parameter must be, if it is not valid. */
    private static String expected(ArgSpec argument, String value) {
        Class<?> type = argument.typeInfo().isCollection()
                ? argument.typeInfo().getAuxiliaryTypes()[0]
                : argument.typeInfo().getType();
        if (type == int.class || type == Integer.class) {
            return wholeNumber(value, BigInteger.valueOf(Integer.MAX_VALUE));
        }
        if (type == long.class || type == Long.class) {
            return wholeNumber(value, BigInteger.valueOf(Long.MAX_VALUE));
        }
        if (type == Instant.class) {
            return "a time such as 2026-01-31T12:00:00Z";
        }
        if (type == boolean.class || type == boolean[].class) {
            return "true or false";
        }
        if (type.isEnum()) {
            List<String> words = Arrays.stream(type.getEnumConstants())
                    .map(word -> word.toString().toLowerCase(Locale.ROOT))
                    .toList();
            return "one of " + String.join(", ", words);
        }
        return argument.paramLabel();
    }

    private static String wholeNumber(String value, BigInteger max) {
        boolean isTooLarge = value.matches("[0-9]{1,100}") && new BigInteger(value).compareTo(max) > 0;
        return "a whole number" + (isTooLarge ? ", at most " + max : "");
    }
}
