// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/common_options.h"

#include "base/units.h"
#include "cli/option_values.h"

#include <CLI/CLI.hpp>

#include <charconv>

namespace ncclprobe::cli {
namespace {

using base::Result;

void accept(const std::string& option, const Result<void>& taken) {
  if (!taken)
    throw CLI::ValidationError(option, taken.error().text());
}

CLI::Option* add_one_of(CLI::App& app, const char* name, std::optional<std::string>& into,
                        const char* help, const std::vector<std::string>& choices) {
  return app.add_option(name, into, help)->type_name("NAME")->check(CLI::IsMember(choices));
}

// "250ms", "2m"
void add_duration(CLI::App& app, const char* names, std::optional<std::int64_t>& into_ns,
                  const char* help) {
  add_text(app, names, "TIME", help, [&into_ns](const std::string& text) -> Result<void> {
    NCCLPROBE_TRY_ASSIGN(into_ns, base::parse_duration_ns(text));
    return {};
  });
}

} // namespace

CLI::Option* add_text(CLI::App& app, const char* names, const char* value, const char* help,
                      TakeText take) {
  auto read = [option = std::string(names), take = std::move(take)](const std::string& text) {
    accept(option, take(text));
  };
  return app.add_option_function<std::string>(names, read, help)->type_name(value);
}

CLI::Option* add_texts(CLI::App& app, const char* names, const char* value, const char* help,
                       TakeText take) {
  auto read = [option = std::string(names),
               take = std::move(take)](const std::vector<std::string>& all) {
    for (const std::string& text : all)
      accept(option, take(text));
  };
  return app.add_option_function<std::vector<std::string>>(names, read, help)
      ->type_name(value)
      ->allow_extra_args(false);
}

void add_form(CLI::App& app, const std::string& names, const char* value, const char* help,
              const char* group, TakeText take) {
  if (*value != '\0') {
    add_text(app, names.c_str(), value, help, std::move(take))->group(group);
    return;
  }
  app.add_flag_callback(
         names, [names, take = std::move(take)] { accept(names, take("on")); }, help)
      ->group(group);
}

CLI::Option* add_backend(CLI::App& app, std::optional<std::string>& into) {
  return add_one_of(app, "--backend", into,
                    "auto (default), nvidia, host (Gloo on the CPU), synthetic",
                    {"auto", "nvidia", "host", "synthetic"});
}

CLI::Option* add_real_backend(CLI::App& app, std::optional<std::string>& into) {
  return add_one_of(app, "--backend", into, "auto (default), nvidia, host (Gloo on the CPU)",
                    {"auto", "nvidia", "host"});
}

CLI::Option* add_ranks(CLI::App& app, std::optional<int>& into, int most) {
  return app
      .add_option("--ranks", into,
                  "Ranks of a run without mpirun (default: all GPUs, or 2 on the CPU)")
      ->type_name("N")
      ->check(CLI::Range(1, most));
}

void add_seed(CLI::App& app, std::optional<std::uint64_t>& into, const char* help) {
  add_text(app, "--seed", "N", help, [&into](const std::string& text) -> Result<void> {
    std::int64_t seed = 0; // signed, as in plan files
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
    if (error != std::errc{} || end != text.data() + text.size() || seed < 0)
      return base::fail(base::Errc::invalid_argument,
                        "'{}' is not a whole number from 0 to 2^63 - 1", text);
    into = static_cast<std::uint64_t>(seed);
    return {};
  });
}

CLI::Option* add_library(CLI::App& app, std::vector<model::Setting>& into) {
  return add_texts(
      app, "--library", "NAME=PATH",
      "Load this shared library: nccl, nvml, cupti, cublaslt; worker: start this ncclprobe-worker",
      [&into](const std::string& text) -> Result<void> {
        NCCLPROBE_TRY_ASSIGN(model::Setting library, parse_setting(text));
        NCCLPROBE_TRY(check_library_name(library.name));
        into.push_back(std::move(library));
        return {};
      });
}

void add_cell_timeouts(CLI::App& app, std::optional<std::int64_t>& cell_ns,
                       std::optional<std::int64_t>& startup_ns) {
  add_duration(app, "--cell-timeout", cell_ns, "A cell that takes longer is a hang (default 30s)");
  add_duration(app, "--startup-timeout", startup_ns, "From spawn to the first cell (default 180s)");
}

CLI::Option* add_run_file(CLI::App& app, std::optional<std::string>& into) {
  return app.add_option("--output,-o", into, "Run file (default ncclprobe-<time>.h5)")
      ->type_name("FILE");
}

void add_text_file(CLI::App& app, base::Destination& into) {
  app.add_option("--output,-o", into.file, "Write to this file instead of standard output")
      ->type_name("FILE");
  add_force(app, into.overwrite, "Replace the file if it is there");
}

CLI::Option* add_force(CLI::App& app, base::Overwrite& into, const char* help) {
  return app.add_flag_callback(
      "--force", [&into] { into = base::Overwrite::yes; }, help);
}

void add_quiet(CLI::App& app, base::Verbosity& into, const char* help) {
  app.add_flag_callback(
      "--quiet,-q", [&into] { into = base::Verbosity::quiet; }, help);
}

void add_verbose(CLI::App& app, base::Verbosity& into) {
  app.add_flag_callback(
      "--verbose,-v", [&into] { into = base::Verbosity::verbose; }, "Say more on stderr");
}

} // namespace ncclprobe::cli
