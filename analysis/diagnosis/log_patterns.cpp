// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/diagnosis/log_patterns.h"

#include <re2/re2.h>
#include <re2/set.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <stdexcept>

namespace ncclprobe::analysis {
namespace {

// Words that make a line suspicious. NCCL's INFO lines use "failed" and "could not" for normal
// events.
constexpr const char* k_suspicious =
    "(?i)\\berror\\b|\\bfatal\\b|\\bpanic: |kernel panic|traceback \\(most|core "
    "dumped|\\bassertion\\b|NCCL "
    "WARN|NVRM: Xid \\(|SXid \\(|"
    "\\bexception\\b|\\bfailed\\b|\\bfailure\\b|\\baborted\\b|segfault|\\bcorrupt(ed|ion)\\b";
// Exceptions: zero counts, settings, and lines that say that work continues.
constexpr const char* k_harmless =
    "(?i)NCCL INFO|\\b(no|0|zero|without)( \\w+)? (errors?|failures?|failed)\\b|"
    "\\b(errors?|failures?|failed|occurred)\"?( count)?[ =:]+(0\\b|none|no\\s*$)|error[ "
    "_]rate|error bars?|"
    "set by environment|\\bon_?error\\b|CUDA kernel errors might be|For debugging consider passing|"
    "\\b(continuing|falling back|ignoring|ignored|will retry|not an error|assuming client exit)\\b|"
    "tainting kernel|more process(es)? (has|have) sent help message|to see all help / error "
    "messages|"
    "PMIX_ERR_NO_PERMISSIONS in file dstore_base|Failed to open libibverbs|"
    // Return values that programs expect and that cuda-gdb reports: not ready (600), peer access
    // already (704) or not (705) enabled.
    "Cuda API error detected: \\w+ returned \\((0x258|0x2c0|0x2c1)\\)";
// Lines about ranks, processes, connections between ranks, and multi-line messages of the driver.
constexpr const char* k_places = " nranks |local_rank: |Root Cause \\(|last enqueued| via SHM/| "
                                 "via NET/|WorkNCCL\\(|NVRM: |NCCL version ";
// Shorter words occur in too many lines.
constexpr std::size_t k_shortest_word = 5;
// Longer words make the automaton larger and exclude hardly any lines.
constexpr std::size_t k_longest_word = 20;

RE2::Options options() {
  RE2::Options made(RE2::Quiet);
  made.set_encoding(RE2::Options::EncodingLatin1); // logs contain any bytes
  return made;
}

// For hundreds of words at once, ignoring case.
RE2::Options word_options() {
  RE2::Options made = options();
  made.set_case_sensitive(false);
  made.set_max_mem(32 << 20);
  return made;
}

} // namespace

std::size_t behind_group(std::string_view expression, std::size_t at) {
  char open = expression[at], close = open == '(' ? ')' : ']';
  int depth = 0;
  for (; at < expression.size(); ++at) {
    if (expression[at] == '\\')
      ++at;
    else if (expression[at] == close && --depth == 0)
      return at + 1;
    else if (expression[at] == open && (open == '(' || depth == 0))
      ++depth;
  }
  return expression.size();
}

std::vector<std::string> needed_words(std::string_view expression) {
  std::vector<std::string> words;
  std::string longest, run;
  auto end_run = [&] {
    if (run.size() > longest.size())
      longest = run;
    run.clear();
  };
  auto end_alternative = [&] {
    end_run();
    words.push_back(std::move(longest));
    longest.clear();
  };
  for (std::size_t i = 0; i < expression.size();) {
    char c = expression[i];
    if (c == '(' || c == '[') {
      end_run();
      i = behind_group(expression, i);
      continue;
    }
    ++i;
    if (c == '|')
      end_alternative();
    else if (c == '*' || c == '?' || c == '{') {
      if (!run.empty())
        run.pop_back(); // the following part may be missing
      end_run();
      if (c == '{')
        i = std::min(expression.find('}', i), expression.size() - 1) + 1;
    } else if (c == '.' || c == '+' || c == '^' || c == '$')
      end_run();
    else if (c == '\\' && i < expression.size()) {
      char escaped = expression[i++];
      if (std::isalnum(static_cast<unsigned char>(escaped)))
        end_run(); // a class or a boundary
      else
        run += escaped;
    } else
      run += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  end_alternative();
  return words;
}

struct LogPatterns::Compiled {
  struct Expression {
    std::string line;
    std::string unless; // may be empty
    int sign = -1;
    int context = -1; // neither: suspicious
    std::unique_ptr<RE2> compiled_line;
    std::unique_ptr<RE2> compiled_unless;
  };
  std::vector<Sign> signs;
  std::vector<Expression> expressions;
  std::map<std::string, int> contexts; // by expression
  std::unique_ptr<RE2> any_word;       // finds the first one in a text
  RE2::Set words{word_options(), RE2::UNANCHORED};
  std::vector<std::vector<std::size_t>> expressions_of; // by word
  std::vector<bool> tells_place;                        // by word
  RE2 harmless{k_harmless, options()};

  static const RE2& compiled(const std::string& pattern, std::unique_ptr<RE2>& into) {
    if (!into)
      into = std::make_unique<RE2>(pattern, options());
    if (!into->ok())
      throw std::logic_error("not an expression: " + pattern);
    return *into;
  }
  static bool shows(Expression& one, re2::StringPiece text, re2::StringPiece& part) {
    return compiled(one.line, one.compiled_line)
               .Match(text, 0, text.size(), RE2::UNANCHORED, &part, 1) &&
           !(!one.unless.empty() &&
             RE2::PartialMatch(text, compiled(one.unless, one.compiled_unless)));
  }
};

LogPatterns::LogPatterns(const std::vector<knowledge::LogCause>& causes)
    : compiled_(std::make_unique<Compiled>()) {
  std::map<std::string, std::vector<std::size_t>> by_word;
  auto add = [&](const std::string& line, const std::string& unless, int sign, int context) {
    for (const std::string& word : needed_words(line)) {
      if (word.size() < k_shortest_word)
        throw std::logic_error("expression without a word to look for: " + line);
      by_word[word.substr(0, k_longest_word)].push_back(compiled_->expressions.size());
    }
    compiled_->expressions.push_back({line, unless, sign, context, nullptr, nullptr});
  };
  auto context = [&](const std::string& line) {
    if (line.empty())
      return -1;
    auto [known, added] =
        compiled_->contexts.emplace(line, static_cast<int>(compiled_->contexts.size()));
    if (added)
      add(line, "", -1, known->second);
    return known->second;
  };
  for (const knowledge::LogCause& cause : causes)
    for (const knowledge::LogSign& sign : cause.signs) {
      int number = static_cast<int>(compiled_->signs.size());
      compiled_->signs.push_back({&cause, &sign, context(sign.with), context(sign.without)});
      add(sign.line, sign.unless, number, -1);
    }
  add(k_suspicious, "", -1, -1);
  std::set<std::string> places;
  for (const std::string& word : needed_words(k_places)) {
    places.insert(word.substr(0, k_longest_word));
    by_word[word.substr(0, k_longest_word)]; // examined, although no expression may need it
  }
  std::string any_word;
  for (auto& [word, expressions] : by_word) {
    const std::string quoted = RE2::QuoteMeta(word);
    compiled_->words.Add(quoted, nullptr);
    any_word += (any_word.empty() ? "" : "|") + quoted;
    compiled_->expressions_of.push_back(std::move(expressions));
    compiled_->tells_place.push_back(places.count(word) == 1);
  }
  compiled_->any_word = std::make_unique<RE2>(any_word, word_options());
  if (!compiled_->any_word->ok() || !compiled_->words.Compile())
    throw std::logic_error("too many words for RE2's memory");
}

LogPatterns::~LogPatterns() = default;
LogPatterns::LogPatterns(LogPatterns&&) noexcept = default;

std::size_t LogPatterns::find_candidate(std::string_view text) const {
  const re2::StringPiece whole(text.data(), text.size());
  re2::StringPiece word;
  if (!compiled_->any_word->Match(whole, 0, whole.size(), RE2::UNANCHORED, &word, 1))
    return std::string_view::npos;
  return static_cast<std::size_t>(word.data() + word.size() - text.data());
}

const std::vector<LogPatterns::Sign>& LogPatterns::signs() const {
  return compiled_->signs;
}

std::size_t LogPatterns::context_count() const {
  return compiled_->contexts.size();
}

const knowledge::LogCause* LogPatterns::cause(std::string_view id) const {
  auto found =
      std::ranges::find_if(compiled_->signs, [&](const Sign& one) { return one.cause->id == id; });
  return found == compiled_->signs.end() ? nullptr : found->cause;
}

std::vector<int> LogPatterns::words_in(std::string_view body) const {
  std::vector<int> found;
  compiled_->words.Match(re2::StringPiece(body.data(), body.size()), &found);
  std::ranges::sort(found);
  return found;
}

LogPatterns::LineVerdict LogPatterns::judge(std::string_view body,
                                            const std::vector<int>& words) const {
  std::set<std::size_t> worth_trying;
  LineVerdict verdict;
  for (int word : words) {
    const auto& expressions = compiled_->expressions_of[word];
    worth_trying.insert(expressions.begin(), expressions.end());
    verdict.tells_place = verdict.tells_place || compiled_->tells_place[word];
  }
  re2::StringPiece text(body.data(), body.size());
  std::vector<re2::StringPiece> parts; // of the signs
  for (std::size_t number : worth_trying) {
    Compiled::Expression& one = compiled_->expressions[number];
    re2::StringPiece part;
    if (!Compiled::shows(one, text, part))
      continue;
    if (one.sign >= 0) {
      verdict.signs.push_back(one.sign);
      parts.push_back(part);
    } else if (one.context >= 0)
      verdict.contexts.push_back(one.context);
    else
      verdict.suspicious = !RE2::PartialMatch(text, compiled_->harmless);
  }
  for (std::size_t a = 0; a < parts.size(); ++a)
    for (std::size_t b = 0; b < parts.size(); ++b)
      if (parts[a].size() < parts[b].size() && parts[a].begin() >= parts[b].begin() &&
          parts[a].end() <= parts[b].end())
        verdict.inside.emplace_back(verdict.signs[a], verdict.signs[b]);
  return verdict;
}

} // namespace ncclprobe::analysis
