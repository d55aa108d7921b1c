// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/diagnosis/log_patterns.h"

#include <re2/re2.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <stdexcept>

namespace ncclprobe::analysis {
namespace {

// Words that make a line suspicious. NCCL's INFO lines say "failed" and "could not" of what is
// normal.
constexpr const char* k_suspicious =
    "(?i)\\berror\\b|\\bfatal\\b|\\bpanic\\b|traceback \\(most|core dumped|\\bassertion\\b|NCCL "
    "WARN|"
    "\\bexception\\b|\\bfailed\\b|\\bfailure\\b|\\baborted\\b|segfault|\\bcorrupt(ed|ion)\\b";
constexpr const char* k_harmless =
    "(?i)NCCL INFO|\\b(no|0|zero|without)( \\w+)? (errors?|failures?|failed)\\b|"
    "\\b(errors?|failures?|failed)\"?( count)?[=: ]+(0\\b|none)|error[ _]rate|error bars?|"
    "set by environment|\\bon_?error\\b|CUDA kernel errors might be|For debugging consider passing";
// What tells which process is which rank, and how ranks are joined.
constexpr const char* k_places = " nranks |local_rank: |last enqueued| via SHM/| via NET/";
// Shorter words are in too many lines.
constexpr std::size_t k_shortest_word = 5;

RE2::Options options() {
  RE2::Options made(RE2::Quiet);
  made.set_encoding(RE2::Options::EncodingLatin1); // logs hold any bytes
  return made;
}

// Position behind the bracket that closes the one at `at`.
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

} // namespace

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
        run.pop_back(); // what it follows may be missing
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
    std::unique_ptr<RE2> expression;
    Hit hit; // no entry: suspicious
  };
  std::vector<Expression> expressions;
  std::unique_ptr<LiteralScanner> words;
  std::vector<std::vector<std::size_t>> expressions_of; // by word
  RE2 harmless{k_harmless, options()};
};

LogPatterns::LogPatterns(const std::vector<knowledge::ErrorEntry>& entries)
    : compiled_(std::make_unique<Compiled>()) {
  std::map<std::string, std::vector<std::size_t>> by_word;
  auto add = [&](const std::string& pattern, Hit hit) {
    auto compiled = std::make_unique<RE2>(pattern, options());
    if (!compiled->ok())
      throw std::logic_error("not an expression: " + pattern);
    for (const std::string& word : needed_words(pattern)) {
      if (word.size() < k_shortest_word)
        throw std::logic_error("expression without a word to look for: " + pattern);
      by_word[word].push_back(compiled_->expressions.size());
    }
    compiled_->expressions.push_back({std::move(compiled), hit});
  };
  for (const knowledge::ErrorEntry& entry : entries) {
    for (const std::string& pattern : entry.match)
      add(pattern, {&entry, false});
    for (const std::string& pattern : entry.weak_match)
      add(pattern, {&entry, true});
  }
  add(k_suspicious, {});
  for (const std::string& word : needed_words(k_places))
    by_word[word]; // looked at, though no expression waits for it
  std::vector<std::string> words;
  for (auto& [word, expressions] : by_word) {
    words.push_back(word);
    compiled_->expressions_of.push_back(std::move(expressions));
  }
  compiled_->words = std::make_unique<LiteralScanner>(words);
}

LogPatterns::~LogPatterns() = default;
LogPatterns::LogPatterns(LogPatterns&&) noexcept = default;

std::size_t LogPatterns::find_candidate(std::string_view text) const {
  return compiled_->words->find(text);
}

std::vector<int> LogPatterns::words_in(std::string_view body) const {
  return compiled_->words->all_in(body);
}

LogPatterns::LineVerdict LogPatterns::judge(std::string_view body,
                                            const std::vector<int>& words) const {
  std::set<std::size_t> worth_trying;
  for (int word : words)
    for (std::size_t one : compiled_->expressions_of[static_cast<std::size_t>(word)])
      worth_trying.insert(one);
  LineVerdict verdict;
  re2::StringPiece text(body.data(), body.size());
  bool any_strong = false, any_suspicious = false;
  for (std::size_t number : worth_trying) {
    const RE2& expression = *compiled_->expressions[number].expression;
    const Hit& hit = compiled_->expressions[number].hit;
    bool known = std::any_of(verdict.hits.begin(), verdict.hits.end(), [&](const Hit& one) {
      return one.entry == hit.entry && one.weak <= hit.weak;
    });
    if (known || !RE2::PartialMatch(text, expression))
      continue;
    if (hit.entry == nullptr) {
      any_suspicious = true;
      continue;
    }
    verdict.hits.push_back(hit);
    any_strong = any_strong || !hit.weak;
  }
  if (any_strong)
    std::erase_if(verdict.hits, [](const Hit& one) { return one.weak; });
  verdict.suspicious =
      verdict.hits.empty() && any_suspicious && !RE2::PartialMatch(text, compiled_->harmless);
  return verdict;
}

} // namespace ncclprobe::analysis
