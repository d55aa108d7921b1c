// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "plugin/profiler/provenance.h"

#include "support/catch.h"

using ncclprobe::plugin::program_of;

namespace {

constexpr const char* k_some_file = "/etc/passwd";

} // namespace

TEST_CASE("of a job's command line the program is told, not its arguments") {
  CHECK(program_of({"/opt/train", "--token", "secret"}) == "/opt/train (and 2 arguments)");
  CHECK(program_of({"/opt/train"}) == "/opt/train");
  CHECK(program_of({}).empty());
}

TEST_CASE("what an interpreter runs belongs to the program") {
  CHECK(program_of({"python3", "-u", k_some_file, "--token=secret"}) ==
        std::string("python3 ") + k_some_file + " (and 2 arguments)");
  CHECK(program_of({"/usr/bin/python3.11", "-m", "my.train", "secret"}) ==
        "/usr/bin/python3.11 -m my.train (and 1 argument)");
}

TEST_CASE("nothing else that follows is taken for a program") {
  CHECK(program_of({"python3", "-c", "login('secret')"}) == "python3 (and 2 arguments)");
  CHECK(program_of({"python3", "-m", "secret phrase"}) == "python3 (and 2 arguments)");
  CHECK(program_of({"curl", "-m", "secret"}) == "curl (and 2 arguments)");
  CHECK(program_of({"/opt/train", "--token", "secret", k_some_file}) ==
        "/opt/train (and 3 arguments)");
}
