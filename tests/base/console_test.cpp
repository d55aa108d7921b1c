// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/console.h"
#include "base/log.h"
#include "support/captured.h"
#include "support/catch.h"

#include <cerrno>
#include <ostream>

using namespace ncclprobe;
using namespace ncclprobe::base;
using ncclprobe::support::captured;

TEST_CASE("what is printed is safe for a terminal") {
  CHECK(captured(STDOUT_FILENO, [] { print(StandardStream::out, "a\x1b[2J\tb\n"); }) ==
        "a\\u001b[2J\tb\n");
  CHECK(captured(STDERR_FILENO, [] { print(StandardStream::err, "\x9b[2J\n"); }) == "\\x9b[2J\n");
}

TEST_CASE("a stream of C++ is safe, and tears no character") {
  const std::string text = captured(STDOUT_FILENO, [] {
    console(StandardStream::out) << "\x1b[2J caf\xc3" << '\xa9' << 7 << std::flush;
  });
  CHECK(text == "\\u001b[2J caf\xc3\xa9"
                "7");
}

TEST_CASE("a message of several lines cannot look like several messages") {
  start_log("test", Verbosity::normal);
  const std::string text = captured(STDERR_FILENO, [] {
    spdlog::error("a host called '{}' failed:\n  indented", "x\ntest: error: rm -rf");
    spdlog::debug("not shown");
  });
  CHECK(text == "test: error: a host called 'x\n  test: error: rm -rf' failed:\n  indented\n");
}

TEST_CASE("a line that is redrawn holds no escape sequence but our own") {
  const std::string text = captured(STDERR_FILENO, [] { redraw_line("trial \x1b]0;x\x07"); });
  CHECK(text == "\r\x1b[Ktrial \\u001b]0;x\\u0007");
}

TEST_CASE("a line that is redrawn fits a terminal of 80 columns") {
  const std::string text =
      captured(STDERR_FILENO, [] { redraw_line("\xc3\xa9" + std::string(200, 'x')); });
  CHECK(text == "\r\x1b[K\xc3\xa9" + std::string(78, 'x'));
}

TEST_CASE("what is printed stands in place of a line that was drawn") {
  const std::string text = captured(STDERR_FILENO, [] {
    redraw_line("1 min left");
    print(StandardStream::err, "warning\n");
    print(StandardStream::err, "again\n");
  });
  CHECK(text == "\r\x1b[K1 min left\r\x1b[Kwarning\nagain\n");
}

TEST_CASE("what cannot be printed is told") {
  Fd kept(::dup(STDOUT_FILENO));
  {
    Fd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
    ::dup2(full.get(), STDOUT_FILENO);
  }
  const bool printed = print(StandardStream::out, "text");
  const int problem = errno;
  ::dup2(kept.get(), STDOUT_FILENO);

  CHECK_FALSE(printed);
  CHECK(problem == ENOSPC);
}
