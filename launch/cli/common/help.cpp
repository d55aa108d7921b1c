// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/common/help.h"

#include "base/console.h"
#include "base/exit_code.h"
#include "base/text_layout.h"

#include <algorithm>
#include <sstream>

namespace ncclprobe::cli {
namespace {

constexpr std::size_t k_left_columns = 28;

// Column where the wrapped part of a line begins: under its last column. Columns are separated by
// two blanks or more.
std::size_t hang_of(const std::string& line, std::size_t columns) {
  const std::size_t gap = line.rfind("  ", columns - 30); // leaves at least 30 columns
  return gap == std::string::npos ? 0 : std::min(line.find_first_not_of(' ', gap), line.size());
}

std::string entry(const std::string& left, const std::string& right) {
  const std::string start = "  " + left;
  if (right.empty())
    return start + "\n";
  if (start.size() + 2 <= k_left_columns)
    return within_width(fmt::format("{:<{}}{}\n", start, k_left_columns, right));
  return fmt::format("{}\n{}", start,
                     within_width(fmt::format("{:<{}}{}\n", "", k_left_columns, right)));
}

} // namespace

std::string within_width(const std::string& text) {
  const auto columns = static_cast<std::size_t>(base::text_columns());
  std::istringstream in(text);
  std::string out;
  for (std::string line; std::getline(in, line);) {
    const bool fits = line.size() <= columns;
    const std::size_t hang = fits ? 0 : hang_of(line, columns);
    std::string start = line.substr(0, hang);
    const std::vector<std::string> parts =
        fits ? std::vector{line} : base::wrap(line.substr(hang), static_cast<int>(columns - hang));
    for (const std::string& part : parts) {
      out += fmt::format("{}{}\n", start, part);
      start.assign(hang, ' ');
    }
  }
  return out;
}

std::string names_of(const Option& option) {
  std::string names = option.label();
  if (!option.also.empty())
    names = option.also.starts_with("--") ? names + ", " + option.also : option.also + ", " + names;
  return option.is_flag() ? names : option.positional ? option.value : names + " " + option.value;
}

std::string explained(const Usage& usage, const Option& option) {
  auto names_in_help = [&](std::vector<std::string> names) {
    for (std::string& name : names) {
      const Option* other = find_option(usage.options, name);
      name = other && other->positional ? other->value : "--" + name;
    }
    return fmt::format("{}", fmt::join(names, ", "));
  };
  std::string text = option.help;
  if (const std::size_t at = text.find("{}"); at != std::string::npos)
    text.replace(at, 2, fmt::format("{}", fmt::join(option.choices, ", ")));
  std::vector<std::string> remarks;
  if (!option.initial.empty())
    remarks.push_back("default: " + option.initial);
  if (option.required)
    remarks.emplace_back("required");
  if (option.repeats && !option.after_dashes)
    remarks.emplace_back("may be repeated");
  if (!option.needs.empty())
    remarks.push_back("with " + names_in_help(option.needs));
  if (!option.excludes.empty())
    remarks.push_back("not with " + names_in_help(option.excludes));
  if (!option.part.empty())
    text = option.part + ": " + text;
  return remarks.empty() ? text : fmt::format("{} ({})", text, fmt::join(remarks, "; "));
}

std::string synopsis(const Usage& usage) {
  std::string text = fmt::format("ncclprobe {} [OPTION]...", usage.name);
  for (const Option& option : usage.options)
    if (option.after_dashes)
      text += fmt::format(" -- {}", option.value);
    else if (option.positional)
      text += fmt::format(" {}{}", option.required ? option.value : "[" + option.value + "]",
                          option.repeats ? "..." : "");
  return text;
}

std::vector<std::pair<std::string, std::vector<const Option*>>> groups_of(const Usage& usage) {
  std::vector<std::pair<std::string, std::vector<const Option*>>> groups;
  for (const Option& option : usage.options) {
    const std::string title = option.group.empty() ? "Options" : option.group;
    auto group = std::ranges::find(groups, title, [](const auto& one) { return one.first; });
    if (group == groups.end())
      group = groups.insert(groups.end(), {title, {}});
    group->second.push_back(&option);
  }
  return groups;
}

std::vector<ExitMeaning> exit_codes(const Usage& usage) {
  std::vector<ExitMeaning> all{
      {base::k_exit_ok, "done"},
      {base::k_exit_internal, "a bug in ncclprobe"},
      {base::k_exit_usage, "bad arguments or a bad input file"},
      {base::k_exit_environment, "the machine ran out of memory or processes"},
      {base::k_exit_output, "the output could not be written"}};
  for (const ExitMeaning& own : usage.exits) {
    std::erase_if(all, [&](const ExitMeaning& one) { return one.code == own.code; });
    all.push_back(own);
  }
  std::ranges::sort(all, {}, &ExitMeaning::code);
  return all;
}

std::string help_text(const Usage& usage) {
  std::string out = fmt::format("Usage: {}\n\n", synopsis(usage)) +
                    within_width(fmt::format("{}.\n", usage.summary));
  for (const auto& [title, options] : groups_of(usage)) {
    out += fmt::format("\n{}:\n", title);
    for (const Option* option : options)
      out += entry(names_of(*option), explained(usage, *option));
  }
  if (*usage.about != '\0')
    out += "\n" + within_width(fmt::format("{}\n", usage.about));
  out += "\nExamples:\n";
  for (const Example& example : usage.examples)
    out += entry(example.command, example.what);
  out += "\nExit codes:\n";
  for (const ExitMeaning& one : exit_codes(usage))
    out += within_width(fmt::format("  {:>3}  {}\n", one.code, one.meaning));
  return out;
}

std::string help_text(const std::vector<Usage>& usages) {
  std::string out = within_width(
      "Usage: ncclprobe [COMMAND] [OPTION]...\n\n"
      "Measures multi-GPU communication. Each setting of NCCL runs in fresh processes, "
      "and all data is checked. The default command is `run`.\n");
  out += "\nCommands:\n";
  for (const Usage& usage : usages)
    out += entry(usage.name, usage.summary);
  out += "\nExamples:\n";
  for (const Usage& usage : usages)
    if (!usage.examples.empty())
      out += entry(usage.examples.front().command, usage.examples.front().what);
  return out + "\n`ncclprobe help COMMAND` lists the options of a command.\n";
}

} // namespace ncclprobe::cli
