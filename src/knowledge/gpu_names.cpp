// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "knowledge/gpu_names.h"

#include "knowledge/json_fields.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>

namespace ncclprobe::knowledge {
namespace {

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> list) {
  return std::ranges::find(list, word) != list.end();
}

bool has(const NameWords& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

// "80gb", "80gib", "80g" -> "80gb"; nothing for another word.
std::optional<std::string> memory_word(std::string_view word) {
  std::size_t digits = 0;
  while (digits < word.size() && is_digit(word[digits]))
    ++digits;
  if (digits == 0 || !is_one_of(word.substr(digits), {"g", "gb", "gib"}))
    return std::nullopt;
  return std::string(word.substr(0, digits)) + "gb";
}

// Words without information about the model.
bool is_filler(std::string_view word) {
  return is_one_of(word, {"nvidia", "tesla", "geforce", "gpu", "edition", "graphics", "card", "ac",
                          "generation", "with", "design", "tegra", "nvgpu"});
}

// People omit these words; a name that has one means only this variant.
bool may_be_left_out(std::string_view word) {
  return word.starts_with("sxm") || word.starts_with("hbm") || word.starts_with("gddr") ||
         memory_word(word) ||
         is_one_of(word, {"pcie", "nvl", "rtx", "gtx", "quadro", "ada", "pascal", "blackwell",
                          "workstation", "server", "maxq", "jetson", "active"});
}

// "4090" and "ti" of "4090ti"; other words stay whole.
void add_with_suffix_split(const std::string& word, NameWords& words) {
  std::size_t digits = 0;
  while (digits < word.size() && is_digit(word[digits]))
    ++digits;
  std::string_view rest = std::string_view(word).substr(digits);
  if (digits < 3 || !is_one_of(rest, {"ti", "super", "d", "tisuper"})) {
    words.push_back(word);
    return;
  }
  words.push_back(word.substr(0, digits));
  for (std::string_view suffix : {"ti", "super", "d"})
    if (rest.starts_with(suffix)) {
      words.emplace_back(suffix);
      rest.remove_prefix(suffix.size());
    }
}

// Each run of letters and digits is a word.
NameWords plain_words(std::string_view name) {
  NameWords words(1);
  for (char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)))
      words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!words.back().empty())
      words.emplace_back();
  if (words.back().empty())
    words.pop_back();
  return words;
}

bool stands_for(std::string_view asked, std::string_view word) {
  return asked == word || (asked == "sxm" && word.starts_with("sxm"));
}

bool any_stands_for(const NameWords& asked, std::string_view word) {
  return std::ranges::any_of(asked, [&](const std::string& one) { return stands_for(one, word); });
}

struct Vendor : OtherVendor {
  std::vector<std::string> words;
  std::vector<std::string> numbered; // words that a number follows: "mi300x"
};

NCCLPROBE_FIELDS(Vendor, vendor, words, numbered, instead)

} // namespace

NameWords words_of_gpu_name(std::string_view name) {
  NameWords words;
  for (std::string word : plain_words(name)) {
    if (word == "mig") // what follows names a slice of the GPU
      break;
    if (is_one_of(word, {"mobile", "notebook"}))
      word = "laptop";
    if (is_one_of(word, {"gb", "gib"}) && !words.empty() &&
        std::ranges::all_of(words.back(), is_digit)) {
      words.back() += "gb";
    } else if (word == "q" && !words.empty() && words.back() == "max") {
      words.back() = "maxq";
    } else if (auto memory = memory_word(word)) {
      words.push_back(*memory);
    } else if (word.size() > 3 && (word.starts_with("rtx") || word.starts_with("gtx"))) {
      words.push_back(word.substr(0, 3));
      add_with_suffix_split(word.substr(3), words);
    } else if (!is_filler(word)) {
      add_with_suffix_split(word, words);
    }
  }
  return words;
}

NameMatch match_gpu_name(const NameWords& asked, const NameWords& model) {
  bool names_a_model = false;
  for (const std::string& word : asked) {
    bool found =
        std::ranges::any_of(model, [&](const std::string& one) { return stands_for(word, one); });
    bool is_memory = memory_word(word) || word.starts_with("hbm") || word.starts_with("gddr");
    if (!found && !is_memory) // a driver's sizes are not always those of the data sheet
      return NameMatch::none;
    names_a_model = names_a_model || (found && !may_be_left_out(word));
  }
  if (!names_a_model)
    return NameMatch::none;
  bool exact = asked.size() == model.size();
  for (const std::string& word : model) {
    if (any_stands_for(asked, word))
      continue;
    if (!may_be_left_out(word))
      return NameMatch::none;
    exact = false;
  }
  return exact ? NameMatch::exact : NameMatch::open;
}

std::optional<double> memory_gb_in(const NameWords& words) {
  for (const std::string& word : words)
    if (memory_word(word))
      return std::stod(word);
  return std::nullopt;
}

std::optional<OtherVendor> other_vendor(std::string_view name) {
  const NameWords words = plain_words(name);
  for (const Vendor& one : rows<Vendor>("gpus", "other_vendors")) {
    auto is_its = [&](std::string_view word) {
      return has(one.words, word) ||
             std::ranges::any_of(one.numbered, [&](const std::string& prefix) {
               return word.size() > prefix.size() && word.starts_with(prefix) &&
                      is_digit(word[prefix.size()]);
             });
    };
    if (std::ranges::any_of(words, is_its) && !has(words, "nvidia"))
      return one;
  }
  return std::nullopt;
}

} // namespace ncclprobe::knowledge
