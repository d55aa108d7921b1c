// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/common/usage.h"

#include "base/exit_code.h"
#include "base/similar_words.h"
#include "launch/cli/common/help.h"

#include <CLI/CLI.hpp>

#include <filesystem>

// The only unit that uses CLI11.
namespace ncclprobe::cli {
namespace {

void take(Option& option, const std::string& text) {
  const Result<void> read = text.empty()
                                ? base::fail(base::Errc::invalid_argument, "its value is empty")
                                : option.read(text);
  if (!read)
    throw CLI::ValidationError(option.label(), read.error().text());
  option.said = true;
}

void declare(CLI::App& app, Option& option) {
  if (option.after_dashes)
    return; // parse() fills it
  const std::string names = option.label() + (option.also.empty() ? "" : "," + option.also);
  CLI::Option* declared = nullptr;
  if (option.is_flag())
    declared = app.add_flag_callback(names, [&option] { take(option, "on"); });
  else if (option.repeats)
    declared = app.add_option_function<std::vector<std::string>>(
                      names,
                      [&option](const std::vector<std::string>& texts) {
                        for (const std::string& text : texts)
                          take(option, text);
                      })
                   ->allow_extra_args(option.positional);
  else
    declared = app.add_option_function<std::string>(
        names, [&option](const std::string& text) { take(option, text); });
  declared->required(option.required);
}

CLI::Option* declared(CLI::App& app, const Options& options, const std::string& name) {
  return app.get_option(find_option(options, name)->label());
}

void relate(CLI::App& app, const Options& options) {
  for (const Option& option : options) {
    if (option.after_dashes)
      continue;
    CLI::Option* one = app.get_option(option.label());
    for (const std::string& name : option.needs)
      one->needs(declared(app, options, name));
    for (const std::string& name : option.excludes)
      one->excludes(declared(app, options, name));
  }
}

// A suggestion for an unknown word; empty if none is similar.
std::string did_you_mean(const Usage& usage, std::string_view word) {
  std::vector<std::string_view> names;
  for (const Option& one : usage.options) {
    names.push_back(one.name);
    if (one.also.starts_with("--"))
      names.push_back(std::string_view(one.also).substr(2));
  }
  const std::string_view nearest = base::most_similar(word, names);
  return nearest.empty() ? "" : fmt::format("; did you mean --{}?", nearest);
}

// CLI11 lists all words that are left over, the last one first.
std::string mistake(const Usage& usage, const CLI::App& app, const CLI::Error& error) {
  const std::vector<std::string> rest = app.remaining();
  auto option = std::ranges::find_if(rest, [](const auto& word) { return word.starts_with('-'); });
  std::string text = error.what();
  if (option != rest.end()) {
    const std::string word = option->substr(0, option->find('='));
    text = fmt::format("unknown option '{}'{}", word,
                       word.starts_with("--") ? did_you_mean(usage, word.substr(2)) : "");
  } else if (!rest.empty()) {
    const bool takes_command = std::ranges::any_of(usage.options, &Option::after_dashes);
    text = fmt::format("unknown argument '{}'{}", rest.back(),
                       takes_command ? "; write -- before the command" : "");
  }
  // People know a positional argument by its value in the help.
  for (const Option& one : usage.options)
    if (one.positional && text == one.name + " is required")
      text = one.value + " is required";
  return fmt::format("ncclprobe {0}: {1}\nRun `ncclprobe help {0}` for its options.\n", usage.name,
                     text);
}

// A file's suffix selects the format, unless --format is given: ".json" is json, ".xml" nccl-xml or
// junit.
Result<void> take_format_of_output(Options& options) {
  auto format = std::ranges::find(options, "format", &Option::name);
  auto output = std::ranges::find(options, "output", &Option::name);
  if (format == options.end() || output == options.end() || format->said || !output->said)
    return {};
  std::string suffix = std::filesystem::path(output->write().front()).extension().string();
  suffix.erase(0, 1);
  if (suffix == "md")
    suffix = "markdown";
  if (suffix == "xml" && std::ranges::count(format->choices, "junit") > 0)
    suffix = "junit";
  for (const std::string& choice : format->choices)
    if (!suffix.empty() && (choice == suffix || choice.ends_with("-" + suffix)))
      return format->read(choice);
  return {};
}

// Gives the words after "--" to the option that takes them, and returns the others.
std::vector<std::string> without_command(Options& options, const std::vector<std::string>& words) {
  const auto taker = std::ranges::find_if(options, &Option::after_dashes);
  const auto dashes = std::ranges::find(words, "--");
  if (taker == options.end() || dashes == words.end())
    return words;
  for (auto word = dashes + 1; word != words.end(); ++word)
    if (const Result<void> read = taker->read(*word); !read)
      throw CLI::ValidationError(taker->label(), read.error().text());
  return {words.begin(), dashes};
}

} // namespace

std::optional<Leave> parse(Usage& usage, const std::vector<std::string>& words) {
  CLI::App app("", fmt::format("ncclprobe {}", usage.name));
  app.set_version_flag("--version", std::string());
  for (Option& option : usage.options)
    declare(app, option);
  relate(app, usage.options);
  try {
    std::vector<std::string> own = without_command(usage.options, words);
    std::ranges::reverse(own); // CLI11 wants the last one first
    app.parse(std::move(own));
  } catch (const CLI::CallForHelp&) {
    return Leave{Leave::Why::help, help_text(usage)};
  } catch (const CLI::CallForVersion&) {
    return Leave{Leave::Why::version, ""};
  } catch (const CLI::ParseError& error) {
    return Leave{Leave::Why::mistake, mistake(usage, app, error)};
  }
  Result<void> checked = take_format_of_output(usage.options);
  if (checked && usage.check)
    checked = usage.check(usage.options);
  if (!checked)
    return Leave{Leave::Why::mistake,
                 fmt::format("ncclprobe {}: {}\n", usage.name, checked.error().text())};
  return std::nullopt;
}

} // namespace ncclprobe::cli
