// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace ncclprobe::cli {

// Translates options of nccl-tests in the words of `ncclprobe run`: -b 8 -e 8G -f 2 becomes --sizes
// 8:8G:x2, -g 8 becomes --ranks 8. -c 0 and -c 1 are dropped, because data is always checked. Under
// a launcher -g is dropped too, because the launcher decides on the ranks.
std::vector<std::string> without_nccl_tests_words(const std::vector<std::string>& words,
                                                  bool launched);

// True for -b, -e and -g, which take a value in nccl-tests and do not exist in ncclprobe.
bool is_size_or_ranks_of_nccl_tests(const std::string& word);

} // namespace ncclprobe::cli
