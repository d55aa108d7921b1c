// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/read/smi_matrix.h"

#include "machine/source_text.h"
#include "machine/validate.h"

#include "base/number_list.h"
#include "base/text_files.h"
#include "topology/derive.h"

#include <algorithm>
#include <map>

namespace ncclprobe::topology {

namespace {

constexpr std::size_t k_most_columns = 512;
// A prompt, a legend or a job's output may surround a matrix; a document that quotes one is longer.
constexpr std::size_t k_most_foreign_lines = 200;

struct Column {
  std::string name; // "GPU0", "NIC2", "mlx5_0"
  DeviceRef device;
};

// "GPU12" -> 12, with the prefix "GPU".
std::optional<int> number_after(std::string_view word, std::string_view prefix) {
  if (!word.starts_with(prefix) || word.size() == prefix.size() || word.size() > 10)
    return std::nullopt;
  auto number = base::number_of<int>(word.substr(prefix.size()));
  return number.value_or(-1) < 0 ? std::nullopt : number;
}

// Labels of older drivers: SOC became SYS.
std::optional<Path> read_label(std::string_view label) {
  if (label == "SOC")
    return Path{PathType::sys, 0};
  if (label == "N/A")
    return Path{};
  return parse_path_label(label);
}

std::vector<std::string> cells_of(std::string_view line) {
  if (line.find('\t') == std::string_view::npos)
    return base::words_of(line);
  std::vector<std::string> cells;
  while (true) {
    std::size_t tab = line.find('\t');
    cells.emplace_back(trimmed(line.substr(0, tab)));
    if (tab == std::string_view::npos)
      return cells;
    line.remove_prefix(tab + 1);
  }
}

bool is_blank(const std::string& line) {
  return trimmed(line).empty();
}

// The line that names the columns: it begins with "GPU0" or similar, and the next line is a row of
// one of them.
std::optional<std::size_t> heading_of_matrix(const std::vector<std::string>& lines) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    auto words = base::words_of(lines[i]);
    // With a single GPU, no second column distinguishes a heading from a row.
    bool begins_one = !words.empty() && number_after(words[0], "GPU") &&
                      (words.size() == 1 || !read_label(words[1]));
    if (!begins_one)
      continue;
    auto next =
        std::find_if_not(lines.begin() + static_cast<std::ptrdiff_t>(i) + 1, lines.end(), is_blank);
    auto row = next == lines.end() ? std::vector<std::string>{} : base::words_of(*next);
    if (!row.empty() && std::ranges::find(words, row[0]) != words.end())
      return i;
  }
  return std::nullopt;
}

class MatrixReader {
public:
  MatrixReader(std::string_view text, const std::string& name)
      : lines_(plain_lines(text)), name_(name) {}

  Result<Machine> read() {
    NCCLPROBE_TRY(read_heading());
    std::size_t line = heading_ + 1;
    for (; line < lines_.size() && rows_.size() < columns_.size(); ++line) {
      auto cells = cells_of(lines_[line]);
      if (cells.empty() || (cells.size() == 1 && cells[0].empty()))
        continue;
      NCCLPROBE_TRY(read_row(cells, line + 1));
    }
    for (const Column& column : columns_)
      if (!rows_.contains(column.name))
        return fail_at(name_, lines_.size(), "the matrix ends before the row of {}", column.name);
    NCCLPROBE_TRY(check_length());
    for (; line < lines_.size(); ++line)
      read_legend(lines_[line]);
    std::ranges::sort(host_.gpus, {}, &Gpu::index);
    std::ranges::sort(host_.nics, {}, &Nic::index);
    for (Nic& nic : host_.nics)
      nic.kind.fill_from(nic_kind(host_, nic));
    return machine_of(std::move(host_), name_);
  }

private:
  Result<void> read_heading() {
    heading_ = heading_of_matrix(lines_).value_or(lines_.size());
    if (heading_ == lines_.size())
      return fail_at(name_, 1,
                     "no heading such as 'GPU0 GPU1 ... CPU Affinity': this is not the output of "
                     "nvidia-smi topo -m");
    int unnumbered_nics = 0;
    for (const std::string& word : base::words_of(lines_[heading_])) {
      // After the devices: "CPU Affinity", "NUMA Affinity", "GPU NUMA ID".
      if (word == "CPU" || word == "NUMA" || word == "GPU")
        break;
      if (columns_.size() == k_most_columns)
        return fail_at(name_, heading_ + 1, "more than {} columns", k_most_columns);
      NCCLPROBE_TRY(add_column(word, unnumbered_nics));
    }
    return {};
  }

  Result<void> add_column(const std::string& word, int& unnumbered_nics) {
    for (const Column& column : columns_)
      if (column.name == word)
        return fail_at(name_, heading_ + 1, "two columns are called {}", word);
    if (auto gpu = number_after(word, "GPU")) {
      columns_.push_back({word, {DeviceKind::gpu, *gpu}});
      Gpu one;
      one.index = *gpu;
      host_.gpus.push_back(std::move(one));
      return {};
    }
    // A separate legend explains NIC2; older drivers write the adapter's name.
    Nic nic;
    auto number = number_after(word, "NIC");
    nic.index = number ? *number : unnumbered_nics++;
    nic.name = word;
    columns_.push_back({word, {DeviceKind::nic, nic.index}});
    host_.nics.push_back(std::move(nic));
    return {};
  }

  Result<void> read_row(const std::vector<std::string>& cells, std::size_t line) {
    auto column = std::ranges::find(columns_, cells[0], &Column::name);
    if (column == columns_.end())
      return fail_at(name_, line, "a row for '{}', which is not a column; rows for {} are missing",
                     cells[0], columns_.size() - rows_.size());
    auto [before, added] = rows_.emplace(column->name, line);
    if (!added)
      return fail_at(name_, line, "a second row for {}; the first is line {}", column->name,
                     before->second);
    if (cells.size() < columns_.size() + 1)
      return fail_at(name_, line, "the row of {} has {} cells, the heading {}", column->name,
                     cells.size() - 1, columns_.size());
    for (std::size_t i = 0; i < columns_.size(); ++i)
      NCCLPROBE_TRY(read_cell(*column, columns_[i], cells[i + 1], line));
    if (column->device.kind == DeviceKind::gpu)
      read_affinity(column->device.index, cells);
    return {};
  }

  Result<void> read_cell(const Column& row, const Column& column, std::string_view text,
                         std::size_t line) {
    auto path = read_label(text);
    if (!path)
      return fail_at(name_, line,
                     "{} to {}: '{}' is not a label; known are X, NV#, PIX, PXB, PHB, NODE, SYS",
                     row.name, column.name, text);
    if ((path->type == PathType::self) != (row.name == column.name))
      return fail_at(name_, line, "{} to {} is '{}': X stands for a device itself", row.name,
                     column.name, text);
    if (row.name == column.name)
      return {};
    auto pair = std::minmax(row.name, column.name);
    auto [before, added] =
        said_.emplace(std::pair<std::string, std::string>(pair), std::pair(*path, line));
    if (added) {
      if (path->type != PathType::unknown)
        host_.stated_paths.push_back(stated(row.device, column.device, *path));
    } else if (before->second.first != *path) {
      return fail_at(name_, line, "{} to {} is {} here and {} on line {}", row.name, column.name,
                     path->label(), before->second.first.label(), before->second.second);
    }
    return {};
  }

  Result<void> check_length() const {
    auto written =
        lines_.size() - static_cast<std::size_t>(std::ranges::count_if(lines_, is_blank));
    if (written > k_most_foreign_lines + rows_.size())
      return fail_at(
          name_, heading_ + 1,
          "a longer text quotes a matrix of nvidia-smi topo -m; put the matrix into its own file");
    return {};
  }

  static StatedPath stated(DeviceRef a, DeviceRef b, Path path) {
    if (std::tuple(a.kind, a.index) > std::tuple(b.kind, b.index))
      std::swap(a, b);
    return {a, b, path, Source::nvidia_smi};
  }

  void read_affinity(int index, const std::vector<std::string>& cells) {
    auto gpu = std::ranges::find(host_.gpus, index, &Gpu::index);
    auto list_at = [&](std::size_t position) {
      std::size_t cell = columns_.size() + 1 + position;
      return cell < cells.size() ? base::parse_number_list(cells[cell]) : std::vector<int>{};
    };
    std::vector<int> cpus = list_at(0);
    std::vector<int> nodes = list_at(1);
    if (!cpus.empty())
      gpu->cpu_affinity = Fact<std::vector<int>>(cpus, Source::nvidia_smi);
    if (nodes.size() == 1)
      gpu->numa_node = Fact<int>(nodes[0], Source::nvidia_smi);
    else if (!nodes.empty())
      gpu->near_numa_nodes = Fact<std::vector<int>>(nodes, Source::nvidia_smi);
  }

  // "  NIC0: mlx5_0"
  void read_legend(std::string_view line) {
    auto words = base::words_of(line);
    if (words.size() != 2 || !words[0].ends_with(':'))
      return;
    auto number = number_after(std::string_view(words[0]).substr(0, words[0].size() - 1), "NIC");
    auto nic = number ? std::ranges::find(host_.nics, *number, &Nic::index) : host_.nics.end();
    if (nic != host_.nics.end())
      nic->name = words[1];
  }

  std::vector<std::string> lines_;
  const std::string& name_;
  std::size_t heading_ = 0;
  std::vector<Column> columns_;
  std::map<std::string, std::size_t> rows_; // name -> line
  std::map<std::pair<std::string, std::string>, std::pair<Path, std::size_t>> said_;
  Host host_;
};

} // namespace

bool has_smi_matrix(const std::vector<std::string>& lines) {
  return heading_of_matrix(lines).has_value();
}

Result<Machine> read_smi_matrix(std::string_view text, const std::string& name) {
  NCCLPROBE_TRY(check_text(text, name));
  return MatrixReader(text, name).read();
}

} // namespace ncclprobe::topology
