// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/name_words.h"

namespace ncclprobe::analysis::timeline {
namespace {

bool is_letter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
}
bool is_capital(char letter) {
  return letter >= 'A' && letter <= 'Z';
}

} // namespace

std::vector<std::string> words_of_name(std::string_view name) {
  std::vector<std::string> words;
  std::string whole; // of letters without a break, such as DataLoader
  bool goes_on = false;
  auto end_whole = [&] {
    if (!whole.empty() && (words.empty() || words.back() != whole))
      words.push_back(whole);
    whole.clear();
  };
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (!is_letter(name[i])) {
      end_whole();
      goes_on = false;
      continue;
    }
    const bool begins = !goes_on || (is_capital(name[i]) && !is_capital(name[i - 1]));
    if (begins)
      words.emplace_back();
    const char small = is_capital(name[i]) ? static_cast<char>(name[i] - 'A' + 'a') : name[i];
    words.back() += small;
    whole += small;
    goes_on = true;
  }
  end_whole();
  return words;
}

} // namespace ncclprobe::analysis::timeline
