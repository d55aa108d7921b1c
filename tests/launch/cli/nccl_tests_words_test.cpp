// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/common/nccl_tests_words.h"
#include "support/catch.h"

using namespace ncclprobe::cli;
using Texts = std::vector<std::string>;

TEST_CASE("options of nccl-tests become ours") {
  CHECK(without_nccl_tests_words({"-b", "8", "-e", "8G", "-f", "2", "-g", "8"}, false) ==
        Texts{"--ranks", "8", "--sizes", "8:8G:x2"});
  CHECK(without_nccl_tests_words({"-b", "1M", "-n", "20", "-w", "5", "-c", "1"}, false) ==
        Texts{"-n", "20", "-w", "5", "--sizes", "1M:32M:x2"});
  CHECK(without_nccl_tests_words({"-g", "1"}, true).empty());
}

TEST_CASE("our own words stay") {
  const Texts words{"-c", "all_reduce", "-f", "json", "--sizes", "8:8G:x2"};
  CHECK(without_nccl_tests_words(words, false) == words);
}
