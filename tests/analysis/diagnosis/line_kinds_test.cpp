// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/diagnosis/line_kinds.h"
#include "analysis/diagnosis/log_scanner.h"
#include "support/catch.h"

#include <map>

namespace ncclprobe::analysis {
namespace {

using knowledge::CauseRole;
using knowledge::LogCause;
using knowledge::LogSign;

LogSign sign(const char* line, bool proves = true) {
  LogSign made;
  made.line = line;
  made.proves = proves;
  return made;
}

LogCause cause(const char* id, std::vector<LogSign> signs) {
  LogCause made;
  made.id = id;
  made.signs = std::move(signs);
  return made;
}

// Certain or not, by the id of what the log shows.
std::map<std::string, bool> shown(const std::vector<LogCause>& causes, const char* log) {
  LogPatterns patterns(causes);
  LogScanner scanner(patterns);
  scanner.feed(log);
  std::map<std::string, bool> all;
  for (const LogProblem& one : scanner.finish().problems)
    all[one.cause->id] = one.certain;
  return all;
}

using Shown = std::map<std::string, bool>;

} // namespace

TEST_CASE("of two signs on one line the more specific words win, though they prove less") {
  std::vector<LogCause> causes = {
      cause("general", {sign("No space left")}),
      cause("special", {sign("extend /dev/shm.*No space left", false)})};

  CHECK(shown(causes, "No space left on /home\n") == Shown{{"general", true}});
  CHECK(shown(causes, "cannot extend /dev/shm/x: No space left\n") == Shown{{"special", false}});
}

TEST_CASE("words that prove a cause hide those of the line that only fit one") {
  std::vector<LogCause> causes = {cause("fits", {sign("RuntimeError", false)}),
                                  cause("proven", {sign("illegal access")})};

  CHECK(shown(causes, "RuntimeError: illegal access\n") == Shown{{"proven", true}});
  CHECK(shown(causes, "RuntimeError: what\nillegal access\n") ==
        Shown{{"fits", false}, {"proven", true}});
}

TEST_CASE("what only passes an error on hides no cause") {
  std::vector<LogCause> causes = {cause("fits", {sign("reset by peer", false)}),
                                  cause("wrapper", {sign("NCCL error in.*peer")})};
  causes[1].role = CauseRole::wrapper;

  CHECK(shown(causes, "NCCL error in x: reset by peer\n") ==
        Shown{{"fits", false}, {"wrapper", true}});
}

TEST_CASE("a last resort is taken only where a line shows nothing else") {
  std::vector<LogCause> causes = {cause("exception", {sign("^\\w+Error: ", false)}),
                                  cause("busy", {sign("devices are busy", false)})};
  causes[0].last_resort = true;

  CHECK(shown(causes, "ValueError: x\n") == Shown{{"exception", false}});
  CHECK(shown(causes, "CudaError: devices are busy\n") == Shown{{"busy", false}});
}

TEST_CASE("a sign may need another line, before it or behind it") {
  std::vector<LogCause> causes = {cause("set", {sign("no algorithm")})};
  causes[0].signs[0].with = "NCCL_ALGO set";

  CHECK(shown(causes, "no algorithm\n").empty());
  CHECK(shown(causes, "NCCL_ALGO set\nno algorithm\n") == Shown{{"set", true}});
  CHECK(shown(causes, "no algorithm\nNCCL_ALGO set\n") == Shown{{"set", true}});
}

TEST_CASE("a sign may be void because of another line, or of words on its own") {
  std::vector<LogCause> causes = {cause("unset", {sign("no algorithm")})};
  causes[0].signs[0].without = "NCCL_ALGO set";
  causes[0].signs[0].unless = "of course";

  CHECK(shown(causes, "no algorithm\n") == Shown{{"unset", true}});
  CHECK(shown(causes, "no algorithm\nNCCL_ALGO set\n").empty());
  CHECK(shown(causes, "no algorithm of course\n").empty());
}

TEST_CASE("a line that shows nothing after all, but speaks of an error, is unknown") {
  std::vector<LogCause> causes = {cause("set", {sign("no algorithm")})};
  causes[0].signs[0].with = "NCCL_ALGO set";
  LogPatterns patterns(causes);
  LogScanner scanner(patterns);
  scanner.feed("n1:1:1 [0] NCCL WARN Error : no algorithm available\n");

  REQUIRE(scanner.finish().unknown.size() == 1);
}

TEST_CASE("lines of one cause by several signs are counted once each") {
  std::vector<LogCause> causes = {cause("x", {sign("first words"), sign("other words", false)})};
  LogPatterns patterns(causes);
  LogScanner scanner(patterns);
  scanner.feed("other words\nfirst words, other words\nfirst words\n");
  LogFindings findings = scanner.finish();

  REQUIRE(findings.problems.size() == 1);
  CHECK(findings.problems[0].certain);
  CHECK(findings.problems[0].lines == 3);
  CHECK(findings.problems[0].first[0].line == 1);
  CHECK(findings.problems[0].first[2].line == 3);
}

} // namespace ncclprobe::analysis
