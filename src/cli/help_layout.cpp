// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/help_layout.h"

#include "analysis/report/text_layout.h"

#include <CLI/CLI.hpp>

#include <sstream>

namespace ncclprobe::cli {
namespace {

using analysis::k_report_columns;

// Where a line goes on below: under the last of its columns, which two blanks or more divide.
std::size_t hang_of(const std::string& line) {
  constexpr std::size_t k_most = k_report_columns - 30; // else it would be a narrow one
  const std::size_t gap = line.rfind("  ", k_most);
  return gap == std::string::npos ? 0 : std::min(line.find_first_not_of(' ', gap), line.size());
}

bool is_unindented(const std::string& line) {
  return !line.empty() && line.front() != ' ';
}

class HelpLayout : public CLI::Formatter {
public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    const std::string text = CLI::Formatter::make_help(app, std::move(name), mode);
    // A subcommand's is part of another one's help, further in.
    return mode == CLI::AppFormatMode::Sub ? text : within_width(text);
  }
};

} // namespace

std::string within_width(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    lines.push_back(line);
  std::string out;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string& line = lines[i];
    if (line.size() <= k_report_columns) {
      out += line + "\n";
      continue;
    }
    const std::size_t hang = hang_of(line);
    const int columns = k_report_columns - static_cast<int>(hang);
    std::vector<std::string> parts = analysis::wrap(line.substr(hang), columns);
    // A paragraph goes on with what is left.
    if (hang == 0 && i + 1 < lines.size() && is_unindented(lines[i + 1])) {
      lines[i + 1] = fmt::format("{} {}", parts.back(), lines[i + 1]);
      parts.pop_back();
    }
    std::string start = line.substr(0, hang);
    for (const std::string& part : parts) {
      out += fmt::format("{}{}\n", start, part);
      start.assign(hang, ' ');
    }
  }
  return out;
}

void use_help_layout(CLI::App& app) {
  app.formatter(std::make_shared<HelpLayout>());
}

} // namespace ncclprobe::cli
