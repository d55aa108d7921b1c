// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "diagnosed.h"

#include "support/catch.h"
#include "support/paths.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

namespace ncclprobe::analysis {
namespace {

struct Message {
  std::vector<std::string> named; // as Diagnosed::named() says it
  std::vector<std::string> seen;  // shown, but no causes
  std::string log;
};

Message message_of(const std::string& line) {
  constexpr std::string_view k_line_end = " ~~ ";
  Message message;
  std::size_t bar = line.find('|');
  std::istringstream ids(line.substr(0, bar));
  for (std::string id; ids >> id;)
    if (id.starts_with('-'))
      message.seen.push_back(id.substr(1));
    else
      message.named.push_back(id);
  std::sort(message.named.begin(), message.named.end());
  message.log = line.substr(bar + 1);
  for (std::size_t at = 0; (at = message.log.find(k_line_end, at)) != std::string::npos;)
    message.log.replace(at, k_line_end.size(), "\n");
  message.log += "\n";
  return message;
}

std::vector<Message> messages() {
  std::ifstream file(support::source_dir() + "/tests/analysis/diagnosis/messages.txt");
  std::vector<Message> all;
  for (std::string line; std::getline(file, line);)
    if (!line.starts_with('#'))
      all.push_back(message_of(line));
  return all;
}

} // namespace

TEST_CASE("each message shows its causes, with their certainty, and nothing else") {
  std::vector<Message> all = messages();
  REQUIRE(all.size() > 500);
  for (const Message& message : all) {
    test_diagnosis::Diagnosed log(message.log);
    INFO(message.log);
    CHECK(log.named() == message.named);
    for (const std::string& id : message.seen)
      CHECK(log.shows(id));
  }
}

// An expression that no message of a library fits is a typing error or a guess.
TEST_CASE("every sign of every cause is shown by some message") {
  std::set<int> shown;
  for (const Message& message : messages()) {
    std::string_view rest = message.log;
    while (!rest.empty()) {
      std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(line.size() + 1);
      const LogPatterns& patterns = test_diagnosis::patterns();
      for (int sign : patterns.judge(line, patterns.words_in(line)).signs)
        shown.insert(sign);
    }
    test_diagnosis::Diagnosed log(message.log);
    for (const LogProblem& one : log.findings.problems)
      for (const LogEvidence& evidence : one.first) {
        const LogPatterns& patterns = test_diagnosis::patterns();
        for (int sign : patterns.judge(evidence.text, patterns.words_in(evidence.text)).signs)
          shown.insert(sign);
      }
  }
  const auto& signs = test_diagnosis::patterns().signs();
  for (std::size_t i = 0; i < signs.size(); ++i)
    if (signs[i].sign->line.find("caused by previous Xid") == std::string::npos) {
      INFO(signs[i].cause->id << ": " << signs[i].sign->line);
      CHECK(shown.count(static_cast<int>(i)) == 1);
    }
}

} // namespace ncclprobe::analysis
