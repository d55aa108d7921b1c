// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/diagnosis/log_patterns.h"
#include "knowledge/log_causes.h"
#include "support/catch.h"
#include "support/golden.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <cctype>
#include <set>

// docs/log-causes.md: the causes that the diagnosis of logs knows.
namespace ncclprobe::knowledge {
namespace {

using analysis::behind_group;

std::vector<std::string> alternatives(const std::string& expression) {
  std::vector<std::string> all(1);
  for (std::size_t at = 0; at < expression.size();) {
    char c = expression[at];
    std::size_t end = at + 1;
    if (c == '(' || c == '[')
      end = behind_group(expression, at);
    else if (c == '\\')
      end = at + 2;
    if (c == '|')
      all.emplace_back();
    else
      all.back() += expression.substr(at, end - at);
    at = end;
  }
  return all;
}

// The words of an expression without alternatives, of groups the first; "..." where anything may
// stand.
std::string plain_words(const std::string& expression) {
  constexpr const char* k_anything = "...";
  std::string text;
  for (std::size_t at = 0; at < expression.size();) {
    char c = expression[at];
    std::size_t end = at + 1;
    std::string piece(1, c);
    if (c == '(') {
      end = behind_group(expression, at);
      std::string group = expression.substr(at + 1, end - at - 2);
      piece = group.starts_with("?") ? "" : plain_words(alternatives(group).front());
    } else if (c == '[') {
      end = behind_group(expression, at);
      piece = expression[at + 1] == '^' || end - at > 6 ? k_anything
                                                        : std::string(1, expression[at + 1]);
    } else if (c == '\\') {
      char escaped = expression[at + 1];
      end = at + 2;
      piece = escaped == 'b' || escaped == 's'                    ? ""
              : std::isalpha(static_cast<unsigned char>(escaped)) ? k_anything
                                                                  : std::string(1, escaped);
    } else if (c == '.')
      piece = k_anything;
    else if (c == '^' || c == '$')
      piece = "";
    bool optional = end < expression.size() && (expression[end] == '?' || expression[end] == '*');
    if (optional || (end < expression.size() && expression[end] == '+'))
      ++end;
    if (!optional || piece == k_anything)
      text += piece;
    at = end;
  }
  return text;
}

// The text that a person would search for.
std::string in_short(const std::string& expression) {
  std::string text = plain_words(expression);
  RE2::GlobalReplace(&text, "(\\.{3})+", "...");
  RE2::GlobalReplace(&text, "^ +| +$", "");
  return text;
}

std::string cell(std::string text) {
  RE2::GlobalReplace(&text, "\\|", "\\\\|");
  return text;
}

std::string quoted(const std::string& expression) {
  return "`" + cell(in_short(expression)) + "`";
}

// "Xid 13, 31" of the sign that the numbers of many Xids share.
std::string xids_of(const LogSign& sign) {
  std::string numbers;
  if (!RE2::PartialMatch(sign.line, "^Xid \\\\\\(\\[\\^\\)\\]\\*\\\\\\): \\(([0-9|]+)\\)",
                         &numbers))
    return {};
  RE2::GlobalReplace(&numbers, "\\|", ", ");
  return "Xid " + numbers;
}

std::string words_of(const LogSign& sign) {
  if (std::string xids = xids_of(sign); !xids.empty())
    return xids;
  std::string text;
  std::set<std::string> seen; // alternatives may differ in what is left out
  for (const std::string& one : alternatives(sign.line))
    if (seen.insert(in_short(one)).second)
      text += (text.empty() ? "" : " or ") + quoted(one);
  if (!sign.with.empty())
    text += " with " + quoted(alternatives(sign.with).front());
  if (!sign.without.empty())
    text += " without " + quoted(alternatives(sign.without).front());
  if (!sign.transport.empty())
    text += " with connections `via " + sign.transport + "`";
  return text;
}

std::string list_of(const LogCause& cause, bool proves) {
  std::string text;
  for (const LogSign& sign : cause.signs)
    if (sign.proves == proves)
      text += (text.empty() ? "" : "<br>") + words_of(sign);
  return text;
}

std::string role_text(const LogCause& cause) {
  switch (cause.role) {
  case CauseRole::secondary:
    return "<br>follows, where a certain cause is seen";
  case CauseRole::wrapper:
    return "<br>only passes an error on";
  case CauseRole::consequence:
    return "<br>only follows";
  case CauseRole::cause:
    break;
  }
  return cause.severity == CauseSeverity::info   ? "<br>information"
         : cause.severity == CauseSeverity::warn ? "<br>a warning"
                                                 : "";
}

std::string joined(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items)
    text += (text.empty() ? "" : "; ") + cell(item);
  return text;
}

std::string links(const std::vector<std::string>& addresses) {
  std::string text;
  for (std::size_t i = 0; i < addresses.size(); ++i)
    text += fmt::format("{}[{}]({})", i == 0 ? "" : ", ", i + 1, addresses[i]);
  return text;
}

std::string document() {
  std::string text = R"(# Causes that the diagnosis of logs knows

`ncclprobe doctor --log FILE` looks for these causes. A test makes this table from
`src/knowledge/data/causes_*.json` and `src/knowledge/data/xids.json`; do not edit it.

- **Certain by**: words that only this cause writes, shortened; `...` stands for anything. One of them is enough.
- **Possible by**: words that fit other causes too. The diagnosis then says "possibly", and what would confirm it.
- "with" (or "without"): the words count only if another line of the log has the second words (or no line has them).
- Where several causes fit one line, the more specific words win.

)";
  text += fmt::format("{} causes.\n", log_causes().size());
  std::vector<std::string> layers;
  for (const LogCause& one : log_causes())
    if (std::find(layers.begin(), layers.end(), one.layer) == layers.end())
      layers.push_back(one.layer);
  std::sort(layers.begin(), layers.end());
  for (const std::string& layer : layers) {
    text += fmt::format("\n## {}\n\n| cause | certain by | possible by | what to do | source |\n"
                        "|---|---|---|---|---|\n",
                        layer);
    for (const LogCause& one : log_causes())
      if (one.layer == layer)
        text += fmt::format("| {} (`{}`){} | {} | {} | {} | {} |\n", cell(one.title), one.id,
                            role_text(one), list_of(one, true), list_of(one, false),
                            joined(one.fix), links(one.sources));
  }
  return text;
}

} // namespace

TEST_CASE("expressions are shortened to the words that a person would look for") {
  CHECK(in_short("\\bNCCL_NET(=| set by environment to )\"?IB") == "NCCL_NET=IB");
  CHECK(in_short("Xid \\([^)]*\\): \\d+") == "Xid (...): ...");
  CHECK(in_short("[nN]o algorithm.*available$") == "no algorithm...available");
  CHECK(in_short("with (error |status=)(12\\b|RETRY) ") == "with error 12");
  CHECK(alternatives("a|(b|c)|[|]") == std::vector<std::string>{"a", "(b|c)", "[|]"});
}

TEST_CASE("the table of causes is of the causes that are looked for") {
  support::check_document("docs/log-causes.md", document());
}

} // namespace ncclprobe::knowledge
