// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace ncclprobe::cli {

// The words of `ncclprobe run` with what only nccl-tests takes in our words: -b 8 -e 8G -f 2 is
// --sizes 8:8G:x2, -g 8 is --ranks 8, and -c 0 or 1 is left out, as data is always checked. Under a
// launcher -g is left out too: the launcher decides on the ranks.
std::vector<std::string> without_nccl_tests_words(const std::vector<std::string>& words,
                                                  bool launched);

// Whether it is one of -b, -e and -g, which take a value there and are none of ours.
bool is_size_or_ranks_of_nccl_tests(const std::string& word);

} // namespace ncclprobe::cli
