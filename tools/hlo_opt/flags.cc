// Which flags does hlo-opt take, and what do they mean?
#include "tools/hlo_opt/flags.h"

#include <cstdio>
#include <cstdlib>

#include "CLI/CLI.hpp"
#include "fmt/format.h"
#include "src/base/limits.h"
#include "tools/hlo_opt/arguments.h"

namespace hlokit {
namespace {

/// Options of XLA whose effect lies outside what hlo-opt does; taken and ignored without a word.
constexpr std::string_view kQuietlyIgnored[] = {"xla_dump_hlo_as_text", "xla_dump_hlo_to_subfolder",
                                                "xla_dump_module_metadata",
                                                "xla_dump_compress_protos"};

/// What CLI11 fills in and what needs a second look afterwards.
struct Raw {
  std::vector<std::string> positional;
  std::string input, format, input_type, output_type, platform;
  std::vector<std::string> skip_pass, disable, only, print_before, print_after;
  bool disable_all = false, dump_long_text = true, dump_disable_metadata = false;
  bool enable_dumping = true;
  std::string dump_to, combine_bytes, combine_count, combine_by_dim, fsdp;
  std::string debug_options_file;
};

void AddInputOutput(CLI::App& app, HloOptFlags& flags, Raw& raw) {
  CLI::Option_group& group = *app.add_option_group("Input and output");
  group.add_option("FILE", raw.positional,
                   "module file, dump folder, DIR:module:stage, or - for standard input");
  group.add_option("--input", raw.input, "the same as FILE");
  group.add_option("-o,--o,--output", flags.output, "where the result goes; - is standard output");
  group
      .add_option("--input-type", raw.input_type, "text, proto, pbtxt or log (default: found out)")
      ->check(CLI::IsMember({"text", "proto", "pbtxt", "log", "auto"}));
  group.add_option("--output-type", raw.output_type, "text, proto or pbtxt (default: text)")
      ->check(CLI::IsMember({"text", "proto", "pbtxt"}));
  group.add_option("--format", raw.format,
                   "XLA's name for --input-type: hlo, txt, pb, pbtxt, textproto");
  group.add_flag("--emit-proto", flags.emit_proto, "print the input as text proto and stop");
  group.add_flag("--split-input-file", flags.split_input_file, "several modules, cut at // -----");
  group.add_flag("--large-constants", flags.large_constants, "print the values of large constants");
  group.add_flag("--strict", flags.strict,
                 "unknown opcodes, attributes, flags and filter names are errors");
  group.add_flag("--no-fill{false},--fill{true}", flags.fill_missing_layouts,
                 "leave shapes without a written layout unset");
  group.add_option("--max-memory", "most memory to use, for instance 2G; 0: no limit")
      ->type_name("SIZE")
      ->check(SetMemoryLimit);
  group.add_option("--timeout", "seconds after which to give up")
      ->type_name("SECONDS")
      ->check(SetTimeLimit);
}

void AddPasses(CLI::App& app, HloOptFlags& flags, Raw& raw) {
  CLI::Option_group& group = *app.add_option_group("Passes");
  group.add_option("--passes", flags.passes, "name,name{option=value option=value}");
  group.add_flag("--list-passes{text}", flags.list_passes,
                 "all passes; =names for one line of names");
  group.add_option("--help-pass", flags.help_pass, "what a pass does and its options");
  group.add_option("--skip-pass,--xla_disable_hlo_passes", raw.disable, "do not run these")
      ->delimiter(',')
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  group.add_option("--enable-only-passes,--xla_enable_hlo_passes_only", raw.only, "run only these")
      ->delimiter(',')
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  group.add_flag("--disable-all-passes,--xla_disable_all_hlo_passes", flags.filter.disable_all,
                 "run nothing");
  group.add_option("--platform", raw.platform, "transforms (others are accepted and ignored)");
  group.add_option("--stage", flags.stage, "hlo (without passes: print the input)");
  group.add_flag("--list-stages", flags.list_stages, "the stages");
  group.add_option("--collective-combine-threshold-in-bytes", raw.combine_bytes,
                   "default of the combiners' option bytes");
  group.add_option("--collective-combine-threshold-count", raw.combine_count,
                   "default of the combiners' option count");
  group.add_option("--collective-combine-by-dim", raw.combine_by_dim,
                   "default of the combiners' option by-dim");
  group.add_option("--neuron-fsdp", raw.fsdp, "default of the combiners' option neuron-fsdp")
      ->expected(0, 1);
}

void AddChecks(CLI::App& app, HloOptFlags& flags) {
  CLI::Option_group& group = *app.add_option_group("Checks and reports");
  group.add_flag("--verify-each", flags.verify_each,
                 "verify at the start and after each changing pass");
  group.add_flag("--prove", flags.prove,
                 "run the module before and after each pass: fail when a value differs");
  group.add_option("--prove-seeds", flags.prove_seeds, "sets of inputs of --prove")
      ->check(CLI::Range(1, 1000));
  group.add_flag("--xla_unsupported_crash_on_hlo_pass_silent_hlo_change", flags.silent_change,
                 "fail when a pass changes the module without saying so");
  group.add_flag("--xla_unsupported_crash_on_hlo_pass_noop_change", flags.noop_change,
                 "fail when a pass claims a change that is none");
  group.add_flag("--timing", flags.timing, "time per pass, on standard error");
  group.add_flag("--stats", flags.stats, "sizes before and after each pass, on standard error");
  group.add_option("--reproducer", flags.reproducer,
                   "when a pass fails: the module in front of it, with the command");
}

void AddDumps(CLI::App& app, HloOptFlags& flags, Raw& raw) {
  CLI::Option_group& group = *app.add_option_group("Dumps");
  group.add_option("--print-before", raw.print_before, "pass names or all; on standard error")
      ->delimiter(',')
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  group.add_option("--print-after", raw.print_after, "pass names or all; on standard error")
      ->delimiter(',')
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  group.add_flag("--print-after-change", flags.print.after_change, "after each changing pass");
  group.add_option("--dump-to", raw.dump_to,
                   "a folder for XLA's dump files after each changing pass");
  group.add_option("--xla_dump_to", flags.dump.directory,
                   "a folder for dumps; - is standard output");
  group.add_option("--xla_dump_hlo_pass_re", flags.dump.pass_re, "dump around matching passes");
  group.add_option("--xla_dump_hlo_module_re", flags.dump.module_re, "dump matching modules");
  group.add_option("--xla_dump_hlo_pipeline_re", flags.dump.pipeline_re,
                   "dump in matching pipelines");
  group.add_option("--xla_dump_max_hlo_modules", flags.dump.max_modules, "dump so many modules");
  group.add_flag("--xla_dump_include_timestamp", flags.dump.timestamp,
                 "microseconds in front of names");
  group.add_flag("--xla_dump_large_constants", flags.dump.print.large_constants, "in dumps");
  group.add_flag("--xla_dump_hlo_as_long_text", raw.dump_long_text,
                 "false: the short form in dumps");
  group.add_flag("--xla_dump_disable_metadata", raw.dump_disable_metadata, "in dumps");
  group.add_flag("--xla_enable_dumping", raw.enable_dumping, "false: no dumps");
  group.add_option("--debug-options-file", raw.debug_options_file,
                   "debug options, one \"name: value\" per line; write it with =");
}

Status ToFormat(const std::string& text, InputFormat* format) {
  if (text.empty() || text == "auto") return {};
  if (text == "text" || text == "hlo" || text == "txt") {
    *format = InputFormat::kText;
  } else if (text == "proto" || text == "pb") {
    *format = InputFormat::kProto;
  } else if (text == "log") {
    *format = InputFormat::kLog;
  } else if (text == "pbtxt" || text == "textproto") {
    *format = InputFormat::kPbtxt;
  } else {
    return MakeError(ExitCode::kUsage, DiagId::kUsageError,
                     fmt::format("--format={} is not a format that hlo-opt reads", text),
                     "it reads hlo, txt, pb, pbtxt and textproto");
  }
  return {};
}

/// Everything that depends on several flags.
Status Finish(HloOptFlags& flags, Raw& raw) {
  if (!raw.input.empty()) raw.positional.push_back(raw.input);
  bool needs_input = flags.list_passes.empty() && flags.help_pass.empty() && !flags.list_stages;
  if (needs_input && raw.positional.size() != 1) {
    return MakeError(
        ExitCode::kUsage, DiagId::kUsageError,
        fmt::format("Must specify a single input file, there are {}", raw.positional.size()),
        "name one file, or - for standard input");
  }
  if (!raw.positional.empty()) flags.input = raw.positional[0];
  // "--o=-" is standard output too; an empty name is a mistake that the file system would word
  // badly.
  if (flags.output.empty()) {
    return MakeError(ExitCode::kUsage, DiagId::kUsageError, "the name of the output is empty",
                     "give --output a file, or - for standard output");
  }
  TRY(ToFormat(raw.format, &flags.input_type));
  TRY(ToFormat(raw.input_type, &flags.input_type));
  TRY(ToFormat(raw.output_type, &flags.output_type));
  flags.filter.disable = raw.disable;
  flags.filter.only = raw.only;
  if (!raw.disable.empty() && !raw.only.empty()) {
    flags.warnings.push_back(
        {.id = DiagId::kConflictingFilters,
         .severity = Severity::kWarning,
         .message = "both a list of passes to run and one of passes to skip: skipping wins",
         .help = "XLA refuses this combination"});
  }
  for (Diagnostic& warning : CheckFilterNames(flags.filter)) flags.warnings.push_back(warning);
  flags.print.before = raw.print_before;
  flags.print.after = raw.print_after;
  if (!raw.dump_to.empty()) {
    flags.dump.directory = raw.dump_to;
    if (!flags.dump.pass_re) flags.dump.pass_re = ".*";
  }
  if (!raw.enable_dumping) flags.dump.directory.clear();
  bool large = flags.dump.print.large_constants;
  if (!raw.dump_long_text) flags.dump.print = PrintOptions::Short();
  if (raw.dump_long_text) flags.dump.print.large_constants = large;
  if (raw.dump_disable_metadata) flags.dump.print.metadata = false;
  auto combiner = [&](std::string_view option, const std::string& value) {
    if (!value.empty()) flags.combiner_defaults.emplace_back(option, value);
  };
  combiner("bytes", raw.combine_bytes);
  combiner("count", raw.combine_count);
  combiner("by-dim", raw.combine_by_dim);
  combiner("neuron-fsdp", raw.fsdp);
  return {};
}

/// Debug options of XLA that hlo-opt does not know have no meaning here; other extras are mistakes.
Status CheckExtras(const CLI::App& app, const std::vector<std::string>& extras,
                   HloOptFlags& flags) {
  std::vector<std::string> known;
  for (const CLI::App* group : app.get_subcommands([](const CLI::App*) { return true; })) {
    for (const CLI::Option* option : group->get_options()) {
      for (const std::string& name : option->get_lnames()) known.push_back(name);
    }
  }
  std::vector<std::string_view> names(known.begin(), known.end());
  for (const std::string& extra : extras) {
    std::string_view word = extra;
    if (!word.starts_with("--")) continue;  // the value of an unknown flag
    word = word.substr(2, word.find('=') - 2);
    if (word.starts_with("xla_")) {
      if (std::find(std::begin(kQuietlyIgnored), std::end(kQuietlyIgnored), word) !=
          std::end(kQuietlyIgnored)) {
        continue;
      }
      flags.warnings.push_back({.id = DiagId::kIgnoredFlag,
                                .severity = Severity::kWarning,
                                .message = fmt::format("--{} has no effect here", word)});
      continue;
    }
    std::string near = NearestName(word, names);
    return MakeError(ExitCode::kUsage, DiagId::kUsageError, fmt::format("unknown flag --{}", word),
                     near.empty() ? std::string("--help shows all flags")
                                  : fmt::format("did you mean --{}?", near));
  }
  return {};
}

Result<std::vector<std::string>> CollectArguments(int argc, char** argv) {
  std::vector<std::string> command_line, all;
  for (int i = 1; i < argc; ++i) command_line.push_back(NormalizeArgument(argv[i]));
  constexpr std::string_view kFile = "--debug-options-file";
  for (const std::string& argument : command_line) {
    if (argument == kFile) {
      return MakeError(ExitCode::kUsage, DiagId::kUsageError,
                       "--debug_options_file must be written with =", "--debug_options_file=FILE");
    }
    if (!argument.starts_with(std::string(kFile) + "=")) continue;
    ASSIGN_OR_RETURN(all, ReadDebugOptions(argument.substr(kFile.size() + 1)));
  }
  if (const char* environment = std::getenv("XLA_FLAGS")) {
    for (const std::string& word : SplitFlagText(environment))
      all.push_back(NormalizeArgument(word));
  }
  all.insert(all.end(), command_line.begin(), command_line.end());
  return all;
}

constexpr const char* kFooter =
    "Examples:\n"
    "  hlo-opt module.txt --passes=layout-assignment,layout-normalization,dce\n"
    "  hlo-opt --input a.hlo --output b.hlo --passes 'all-reduce-combiner{key=stock count=8}'\n"
    "  hlo-opt module.txt --passes=neuron-layout --dump-to=/tmp/steps --stats\n"
    "  hlo-opt --list-passes\n"
    "Flags take one or two dashes, = or a blank, dashes or underscores. XLA_FLAGS is read too.\n"
    "Exit codes: 0 ok, 1 bad command line, unknown pass or unreadable input, 4 a pass cannot "
    "handle the\n"
    "module, 5 verification failed, 6 writing failed, 7 a limit was reached, 70 internal error.";

}  // namespace

FlagsOutcome ParseFlags(int argc, char** argv) {
  FlagsOutcome outcome;
  Raw raw;
  CLI::App app{"Runs passes over HLO modules."};
  app.name("hlo-opt");
  app.footer(kFooter);
  app.set_version_flag("--version", std::string("hlo-opt (hlokit) 0.1.0"));
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  AddInputOutput(app, outcome.flags, raw);
  AddPasses(app, outcome.flags, raw);
  AddChecks(app, outcome.flags);
  AddDumps(app, outcome.flags, raw);
  app.allow_extras();
  auto fail = [&](const Error& error) {
    std::fputs(FormatError(error).c_str(), stderr);
    outcome.exit = 1;  // what XLA's tool says to every bad command line
    return outcome;
  };
  Result<std::vector<std::string>> arguments = CollectArguments(argc, argv);
  if (!arguments) return fail(arguments.error());
  std::vector<std::string> reversed(arguments->rbegin(), arguments->rend());
  try {
    app.parse(reversed);
  } catch (const CLI::Success& success) {
    outcome.exit = app.exit(success);
    return outcome;
  } catch (const CLI::ParseError& error) {
    app.exit(error);
    outcome.exit = 1;
    return outcome;
  }
  if (Status status = CheckExtras(app, app.remaining(true), outcome.flags); !status) {
    return fail(status.error());
  }
  if (Status status = Finish(outcome.flags, raw); !status) return fail(status.error());
  return outcome;
}

}  // namespace hlokit
