// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/nccl_log.h"

#include <algorithm>
#include <charconv>

namespace ncclprobe::analysis {
namespace {

constexpr std::string_view k_set_by = " set by environment to ";

std::string_view after(std::string_view text, std::string_view mark) {
  std::size_t at = text.find(mark);
  return at == std::string_view::npos ? std::string_view{} : text.substr(at + mark.size());
}

template <typename Number>
std::optional<Number> number_at(std::string_view text) {
  Number value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{})
    return std::nullopt;
  return value;
}

std::string word_at(std::string_view text) {
  return std::string(text.substr(0, std::min(text.find(' '), text.size())));
}

// "vm:1889:1889 [0] NCCL INFO words" -> "words"; other lines as they are.
std::string_view words_of(std::string_view line) {
  for (std::string_view mark : {" NCCL INFO ", " NCCL WARN ", " NCCL TRACE "})
    if (std::string_view words = after(line, mark); !words.empty())
      return words;
  return line;
}

void read_setting(std::string_view words, NcclLog& log) {
  std::size_t at = words.find(k_set_by);
  if (at == std::string_view::npos)
    return;
  std::string_view name = words.substr(0, at);
  name.remove_prefix(name.rfind(' ') + 1); // npos + 1 is 0
  std::string_view value = words.substr(at + k_set_by.size());
  if (value.ends_with('.'))
    value.remove_suffix(1);
  if (log.setting(name) == nullptr)
    log.settings.push_back({std::string(name), std::string(value), std::string(words)});
}

void read_choice(std::string_view words, NcclLog& log) {
  std::size_t colon = words.find(": ");
  std::string_view algorithm = after(words, " Bytes -> Algo ");
  if (colon == std::string_view::npos || algorithm.empty())
    return;
  auto bytes = number_at<std::uint64_t>(words.substr(colon + 2));
  if (!bytes)
    return;
  ChoiceLine choice{std::string(words.substr(0, colon)), *bytes, word_at(algorithm),
                    word_at(after(words, " proto ")), 0};
  std::string_view range = after(words, "channel{Lo..Hi}={");
  auto low = number_at<int>(range);
  auto high = number_at<int>(after(range, ".."));
  if (low && high)
    choice.channels = *high - *low + 1;
  log.choices.push_back(std::move(choice));
}

// NCCL's own tuner, "Could not find" and the like are the usual case.
bool is_intervention(std::string_view words) {
  if (words.starts_with("ncclprobe: configuration file ") || words.starts_with("Comm config ") ||
      words.starts_with("NCCL_CONF_FILE"))
    return true;
  bool foreign = words.starts_with("TUNER/Plugin") || words.starts_with("ENV/Plugin");
  bool taken = words.find("Using") != std::string_view::npos ||
               words.find("Loaded") != std::string_view::npos;
  return foreign && taken && words.find("Could not find") == std::string_view::npos &&
         words.find("internal") == std::string_view::npos &&
         words.find("default") == std::string_view::npos;
}

} // namespace

const SettingLine* NcclLog::setting(std::string_view name) const {
  auto found = std::find_if(settings.begin(), settings.end(),
                            [&](const SettingLine& one) { return one.name == name; });
  return found == settings.end() ? nullptr : &*found;
}

NcclLog read_nccl_log(std::string_view text) {
  NcclLog log;
  while (!text.empty()) {
    std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    std::string_view words = words_of(line);
    if (line.find(" NCCL WARN ") != std::string_view::npos)
      log.warnings.emplace_back(words);
    log.has_words = log.has_words || !words.starts_with("ncclprobe: ");
    read_setting(words, log);
    read_choice(words, log);
    bool known = std::find(log.interventions.begin(), log.interventions.end(), words) !=
                 log.interventions.end();
    if (is_intervention(words) && !known)
      log.interventions.emplace_back(words);
    if (auto nodes = number_at<int>(after(words, " nNodes ")))
      log.nodes = std::max(log.nodes, *nodes);
    log.used_network = log.used_network || words.find(" via NET/") != std::string_view::npos;
  }
  return log;
}

} // namespace ncclprobe::analysis
