// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/read/smi_query.h"

#include "machine/source_text.h"
#include "machine/validate.h"

#include "base/text_files.h"
#include "topology/derive.h"
#include "topology/read/smi_facts.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace ncclprobe::topology {

namespace {

constexpr std::size_t k_most_gpus = 1024;
constexpr std::size_t k_most_listed_links = 256;

// "==============NVSMI LOG=============="
bool is_title(std::string_view line) {
  constexpr std::string_view k_title = "NVSMI LOG";
  line = trimmed(line);
  std::size_t at = line.find(k_title);
  if (at == std::string_view::npos || at == 0)
    return false;
  return line.find_first_not_of('=') == at &&
         line.find_first_not_of('=', at + k_title.size()) == std::string_view::npos;
}

// The number of "GPU 0: NVIDIA H200" or "Link 3: 26.562 GB/s"; `kind` is "GPU" or "Link".
std::optional<int> number_of_entry(std::string_view line, std::string_view kind) {
  std::size_t colon = line.find(": ");
  auto words = base::words_of(line.substr(0, colon));
  bool is_one = colon != std::string_view::npos && words.size() == 2 && words[0] == kind;
  return is_one ? base::number_of<int>(words[1]) : std::nullopt;
}

void take_from_heading(Host& host, std::string_view key, std::string_view value) {
  if (key == "Driver Version")
    set_smi_text(host.driver_version, value);
  else if (key == "CUDA Version")
    set_smi_text(host.cuda_driver_version, value);
}

} // namespace

bool has_smi_query(const std::vector<std::string>& lines) {
  return std::ranges::any_of(lines, is_title);
}

bool is_smi_link_list(const std::vector<std::string>& lines) {
  bool only_gpus = true; // as nvidia-smi -L prints them
  bool gpu_seen = false;
  for (const std::string& line : lines) {
    if (number_of_entry(line, "GPU"))
      gpu_seen = true;
    else if (gpu_seen && number_of_entry(line, "Link"))
      return true;
    else if (!trimmed(line).empty())
      only_gpus = false;
  }
  return gpu_seen && only_gpus;
}

Result<Machine> read_smi_query(std::string_view text, const std::string& name) {
  NCCLPROBE_TRY(check_text(text, name));
  constexpr std::size_t k_indent = 4;
  std::vector<std::string> lines = plain_lines(text);
  Host host;
  std::vector<std::string> path; // the keys above the line
  bool begun = false;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string_view line = lines[i];
    if (trimmed(line).empty())
      continue;
    begun = begun || is_title(line);
    if (line.starts_with("GPU ")) {
      auto bus_id = normal_bus_id(trimmed(line.substr(4)));
      if (!bus_id)
        return fail_at(name, i + 1, "'{}' does not name a GPU by its bus id", trimmed(line));
      if (host.gpus.size() == k_most_gpus)
        return fail_at(name, i + 1, "more than {} GPUs", k_most_gpus);
      Gpu gpu;
      gpu.index = static_cast<int>(host.gpus.size());
      gpu.bus_id = Fact<std::string>(*bus_id, Source::nvidia_smi);
      host.gpus.push_back(std::move(gpu));
      path.clear();
      continue;
    }
    std::size_t colon = line.find(" : ");
    std::string_view key = trimmed(line.substr(0, colon));
    std::string_view value =
        colon == std::string_view::npos ? std::string_view() : trimmed(line.substr(colon + 3));
    if (host.gpus.empty()) {
      take_from_heading(host, key, value);
      continue;
    }
    std::size_t level = line.find_first_not_of(' ') / k_indent;
    path.resize(std::min(path.size(), level < 1 ? 0 : level - 1));
    path.emplace_back(key);
    if (colon == std::string_view::npos)
      continue;
    const std::string joined = fmt::format("{}", fmt::join(path, "/"));
    take_smi_value(host.gpus.back(), SmiForm::text, joined, value);
    if (joined == "GPU Virtualization Mode/Virtualization Mode")
      set_smi_virtualization(host, value);
  }
  if (!begun && host.gpus.empty())
    return fail_at(name, 1,
                   "no 'NVSMI LOG' and no 'GPU <bus id>': this is not the output of nvidia-smi -q");
  add_absent_nvlinks(host);
  return machine_of(std::move(host), name);
}

Result<Machine> read_smi_nvlink(std::string_view text, const std::string& name) {
  NCCLPROBE_TRY(check_text(text, name));
  std::vector<std::string> lines = plain_lines(text);
  Host host;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string_view line = trimmed(lines[i]);
    std::size_t colon = line.find(':');
    if (colon == std::string_view::npos)
      continue;
    std::string_view value = trimmed(line.substr(colon + 1));
    auto words = base::words_of(line.substr(0, colon));
    auto number = words.size() == 2 ? leading_int(words[1]) : std::nullopt;
    if (number && words[0] == "GPU") {
      if (host.gpus.size() == k_most_gpus)
        return fail_at(name, i + 1, "more than {} GPUs", k_most_gpus);
      if (host.gpu(*number))
        return fail_at(name, i + 1, "GPU {} a second time", *number);
      Gpu gpu;
      gpu.index = *number;
      std::size_t uuid = value.find(" (UUID: ");
      set_smi_text(gpu.name, trimmed(value.substr(0, uuid)));
      if (uuid != std::string_view::npos && value.ends_with(')'))
        set_smi_text(gpu.uuid, value.substr(uuid + 8, value.size() - uuid - 9));
      host.gpus.push_back(std::move(gpu));
    } else if (number && words[0] == "Link") {
      if (host.gpus.empty())
        return fail_at(name, i + 1, "a link before the first GPU");
      Fact<std::vector<NvLink>>& told = host.gpus.back().nvlinks;
      if (!told) // nvidia-smi -L and some drivers list GPUs without their links
        told = Fact<std::vector<NvLink>>(std::vector<NvLink>{}, Source::nvidia_smi);
      std::vector<NvLink>& links = *told;
      if (links.size() == k_most_listed_links)
        return fail_at(name, i + 1, "a GPU with more than {} NVLinks", k_most_listed_links);
      if (std::ranges::any_of(links,
                              [&](const NvLink& link) { return link.number.value == *number; }))
        return fail_at(name, i + 1, "link {} a second time", *number);
      auto rate = leading_number(value);
      if (!rate && value != "<inactive>" && value != "inactive")
        return fail_at(name, i + 1, "'{}' is neither a rate nor <inactive>", value);
      NvLink link;
      link.number = Fact<int>(*number, Source::nvidia_smi);
      link.active = Fact<bool>(rate.value_or(0) > 0, Source::nvidia_smi);
      link.gb_per_s = Fact<double>(rate, Source::nvidia_smi);
      links.push_back(std::move(link));
    }
  }
  if (host.gpus.empty())
    return fail_at(
        name, 1,
        "no line such as 'GPU 0: NVIDIA H200': this is not the output of nvidia-smi nvlink -s");
  std::ranges::sort(host.gpus, {}, &Gpu::index);
  add_absent_nvlinks(host);
  return machine_of(std::move(host), name);
}

} // namespace ncclprobe::topology
