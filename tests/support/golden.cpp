// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/golden.h"

#include "base/atomic_file.h"
#include "support/catch.h"
#include "support/paths.h"

#include <cstdlib>
#include <sstream>

namespace ncclprobe::support {

void check_golden(const std::string& name, const std::string& text) {
  check_document("tests/golden/" + name, text);
}

void check_document(const std::string& name, const std::string& text) {
  std::filesystem::path path = support::source_dir() + "/" + name;
  if (const char* accept = std::getenv("NCCLPROBE_ACCEPT_GOLDEN");
      accept && std::string(accept) == "1")
    base::value_or_throw(base::write_file_atomically(path, text));

  auto expected = base::read_file(path);
  if (!expected)
    FAIL(expected.error().text() << "; NCCLPROBE_ACCEPT_GOLDEN=1 writes it");
  if (*expected == text) {
    SUCCEED();
    return;
  }
  std::istringstream wanted(*expected);
  std::istringstream got(text);
  std::string wanted_line;
  std::string got_line;
  for (int number = 1;; ++number) {
    bool more_wanted = static_cast<bool>(std::getline(wanted, wanted_line));
    bool more_got = static_cast<bool>(std::getline(got, got_line));
    if (more_wanted == more_got && wanted_line == got_line && more_wanted)
      continue;
    FAIL(path.string() << " line " << number
                       << "\n  expected: " << (more_wanted ? wanted_line : "(end)")
                       << "\n  got:      " << (more_got ? got_line : "(end)")
                       << "\nIf the new text is right: NCCLPROBE_ACCEPT_GOLDEN=1 writes it.");
  }
}

} // namespace ncclprobe::support
