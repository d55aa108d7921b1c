// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/proof/nccl_log.h"

#include "base/similar_words.h"

#include <algorithm>
#include <charconv>

namespace ncclprobe::analysis {
namespace {

constexpr std::string_view k_set_by = " set by environment to ";
constexpr std::size_t k_most_network_lines = 16;

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

// NCCL's own tuner, "Could not find" and similar lines are normal.
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

// "[0]eth0:192.0.2.2<0> [1]eth1:..." -> names; "[0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB eth0:..."
// names with port and kind.
std::vector<std::string> interfaces_in(std::string_view words) {
  std::vector<std::string> names;
  words = words.substr(0, words.find(';'));
  for (std::size_t at = 0; (at = words.find('[', at)) != std::string_view::npos; ++at) {
    std::size_t close = words.find(']', at);
    if (close == std::string_view::npos)
      break;
    if (!number_at<int>(words.substr(at + 1)))
      continue;
    std::string name = word_at(words.substr(close + 1));
    if (name.ends_with('>')) // a socket's address
      name.erase(name.find(':'));
    names.push_back(std::move(name));
  }
  return names;
}

void read_network(std::string_view words, NcclLog& log) {
  if (std::string_view chosen = after(words, "Using network "); words.starts_with("Using network "))
    log.network = chosen;
  else if (!words.starts_with("NET/") || words.find(" : GPU Direct") != std::string_view::npos)
    return;
  if (log.network_lines.size() < k_most_network_lines &&
      std::ranges::find(log.network_lines, words) == log.network_lines.end())
    log.network_lines.emplace_back(words);
}

// Called after the last line: the log lists the networks before it names the chosen one.
void find_interfaces(NcclLog& log) {
  for (const std::string& line : log.network_lines)
    if (std::string_view rest = after(line, " : Using ");
        line.starts_with("NET/" + log.network + " ") && !rest.empty())
      log.interfaces = interfaces_in(rest);
}

// "0[1b000]" of the rank with this GPU.
bool read_end(std::string_view text, int& rank, std::string& gpu) {
  auto number = number_at<int>(text);
  std::size_t open = text.find_first_not_of("0123456789");
  std::size_t close = text.find(']');
  if (!number || open == std::string_view::npos || text[open] != '[' ||
      close == std::string_view::npos)
    return false;
  rank = *number;
  gpu = text.substr(open + 1, close - open - 1);
  return true;
}

void read_connection(std::string_view words, NcclLog& log) {
  auto line = analysis::read_connection(words);
  if (line && std::ranges::find(log.connections, *line) == log.connections.end())
    log.connections.push_back(std::move(*line));
}

// "ncclprobe: NCCL expects 21.4 us of cell 3"
void read_estimate(std::string_view words, NcclLog& log) {
  auto time_us = number_at<double>(after(words, "ncclprobe: NCCL expects "));
  auto cell = number_at<int>(after(words, " us of cell "));
  if (time_us && cell && *time_us > 0)
    log.expected_us.emplace(*cell, *time_us);
}

void read_domains(std::string_view words, NcclLog& log) {
  const auto ranks = number_at<int>(after(words, "ncclprobe: communicator nRanks "));
  const auto nodes = number_at<int>(after(words, " nNodes "));
  const std::string_view rest = after(words, " nvlDomains ");
  const auto domains = number_at<int>(rest);
  const auto least = number_at<int>(after(rest, " of "));
  const auto most = number_at<int>(after(rest, " to "));
  if (ranks && nodes && domains && least && most)
    log.domains.push_back({*ranks, *nodes, *domains, *least, *most});
}

} // namespace

std::optional<ConnectionLine> read_connection(std::string_view words) {
  if (!words.starts_with("Channel "))
    return std::nullopt;
  std::string_view ends = after(words, " : ");
  std::string_view transport = after(ends, " via ");
  ConnectionLine line;
  if (transport.empty() || !read_end(ends, line.from_rank, line.from_gpu) ||
      !read_end(after(ends, " -> "), line.to_rank, line.to_gpu))
    return std::nullopt;
  line.transport = word_at(transport);
  line.receiver = ends.find(" [receive] ") != std::string_view::npos;
  return line;
}

bool is_logged_as(std::string_view word, std::string logged) {
  std::erase(logged, '_');
  return base::same_word(word, logged);
}

const SettingLine* NcclLog::setting(std::string_view name) const {
  auto found =
      std::ranges::find_if(settings, [&](const SettingLine& one) { return one.name == name; });
  return found == settings.end() ? nullptr : &*found;
}

NcclLog read_nccl_log(std::string_view text) {
  NcclLog log;
  TuningReader tuning;
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
    read_connection(words, log);
    read_network(words, log);
    read_estimate(words, log);
    read_domains(words, log);
    tuning.read(words);
    bool known = std::ranges::find(log.interventions, words) != log.interventions.end();
    if (is_intervention(words) && !known)
      log.interventions.emplace_back(words);
    if (auto nodes = number_at<int>(after(words, " nNodes ")))
      log.nodes = std::max(log.nodes, *nodes);
    log.used_network = log.used_network || words.find(" via NET/") != std::string_view::npos;
  }
  find_interfaces(log);
  log.tables = tuning.tables();
  return log;
}

} // namespace ncclprobe::analysis
