// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/common/nccl_tests_words.h"

#include <map>

namespace ncclprobe::cli {
namespace {

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

// True if only nccl-tests has this option, or means something else by it.
bool is_of_nccl_tests(const std::string& option, const std::string& value) {
  return is_size_or_ranks_of_nccl_tests(option) || (option == "-f" && is_number(value)) ||
         (option == "-c" && (value == "0" || value == "1"));
}

} // namespace

bool is_size_or_ranks_of_nccl_tests(const std::string& word) {
  return word == "-b" || word == "-e" || word == "-g";
}

std::vector<std::string> without_nccl_tests_words(const std::vector<std::string>& words,
                                                  bool launched) {
  std::map<std::string, std::string> theirs;
  std::vector<std::string> ours;
  for (std::size_t i = 0; i < words.size(); ++i)
    if (i + 1 < words.size() && is_of_nccl_tests(words[i], words[i + 1])) {
      theirs[words[i]] = words[i + 1];
      ++i;
    } else {
      ours.push_back(words[i]);
    }
  if (theirs.contains("-g") && !launched)
    ours.insert(ours.end(), {"--ranks", theirs["-g"]});
  constexpr const char* k_default_size = "32M"; // of nccl-tests
  if (theirs.contains("-b") || theirs.contains("-e")) {
    const std::string first = theirs.contains("-b") ? theirs["-b"] : k_default_size;
    const std::string last = theirs.contains("-e") ? theirs["-e"] : k_default_size;
    const std::string factor = theirs.contains("-f") ? theirs["-f"] : "2";
    ours.insert(ours.end(), {"--sizes", first + ":" + last + ":x" + factor});
  }
  return ours;
}

} // namespace ncclprobe::cli
