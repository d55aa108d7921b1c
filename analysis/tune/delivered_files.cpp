// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/tune/delivered_files.h"

#include "analysis/results/export_line.h"
#include "base/shell_word.h"
#include "base/units.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string_view>

namespace ncclprobe::analysis::tune {
namespace {

using model::Setting;

std::string commented(const Delivery& delivery, std::string_view mark) {
  const tuning::Header& about = delivery.about;
  std::string text;
  for (const auto& [key, member] : tuning::k_header_keys)
    if (!(about.*member).empty())
      text += fmt::format("{} {}: {}\n", mark, key, about.*member);
  if (!delivery.left_out.empty())
    text += fmt::format("{} left out, no effect: {}\n", mark, model::label_of(delivery.left_out));
  if (!delivery.each_change_counts)
    text += fmt::format("{} some of these may have no effect: there was no time to leave out each "
                        "in turn\n",
                        mark);
  return text;
}

// Fields of ncclConfig_t (nccl.h of 2.28.9) that do what a variable does. PyTorch names those of
// ProcessGroupNCCL.Options.config that it has in its own way.
struct ConfigField {
  std::string_view variable;
  std::string_view field;
  std::string_view of_torch; // empty: it has none
  bool text = false;
};
constexpr std::array k_config_fields{
    ConfigField{"NCCL_MIN_CTAS", "minCTAs", "min_ctas"},
    ConfigField{"NCCL_MAX_CTAS", "maxCTAs", "max_ctas"},
    ConfigField{"NCCL_CGA_CLUSTER_SIZE", "cgaClusterSize", "cga_cluster_size"},
    ConfigField{"NCCL_NET", "netName", "net_name", true},
    ConfigField{"NCCL_NVLS_NCHANNELS", "nvlsCTAs", ""},
    ConfigField{"NCCL_NCHANNELS_PER_NET_PEER", "nChannelsPerNetPeer", ""}};

const ConfigField* config_field(const Setting& setting) {
  const auto* found = std::ranges::find(k_config_fields, setting.name, &ConfigField::variable);
  return found == k_config_fields.end() ? nullptr : found;
}

bool is_of_nccl(const Setting& setting) {
  return setting.name.starts_with("NCCL_");
}

// The settings of which `line` makes a line; nothing if there is none.
std::optional<std::string>
lines_of(const std::vector<Setting>& settings,
         const std::function<std::optional<std::string>(const Setting&)>& line) {
  std::string text;
  for (const Setting& setting : settings)
    if (auto one = line(setting))
      text += *one + "\n";
  return text.empty() ? std::nullopt : std::optional(std::move(text));
}

// Variables that a form cannot hold have to be set beside it.
std::string also_needed(const std::vector<Setting>& settings, bool of_torch,
                        std::string_view mark) {
  std::vector<Setting> left;
  std::ranges::copy_if(settings, std::back_inserter(left), [&](const Setting& one) {
    const ConfigField* field = config_field(one);
    return !field || (of_torch && field->of_torch.empty());
  });
  return left.empty() ? ""
                      : fmt::format("{} These variables have no such field and are needed too:\n"
                                    "{} {}\n",
                                    mark, mark, export_line(left));
}

std::optional<std::string> conf_file(const Delivery& delivery) {
  auto lines = lines_of(delivery.environment, [](const Setting& one) -> std::optional<std::string> {
    return is_of_nccl(one) ? std::optional(one.name + "=" + one.value) : std::nullopt;
  });
  if (!lines)
    return std::nullopt;
  std::string others;
  for (const Setting& one : delivery.environment)
    if (!is_of_nccl(one))
      others += fmt::format("# NCCL's file cannot set this variable, so export it: {}={}\n",
                            one.name, base::shell_word(one.value));
  return "# Name this file in NCCL_CONF_FILE, or copy it to ~/.nccl.conf. The environment wins "
         "over it.\n" +
         others + *lines;
}

std::string shell_file(const std::vector<Setting>& environment) {
  return fmt::format("# . settings.sh\n{}\n", fmt::join(shell_lines(environment), "\n"));
}

// What a form that can only set variables lacks.
std::string removal_lines(const std::vector<std::string>& removed, std::string_view mark) {
  return removed.empty()
             ? ""
             : fmt::format("{} Unset first, where the job is started, on every node:\n{} {}\n",
                           mark, mark, fmt::join(removed, " "));
}

std::string launch_lines(const Delivery& delivery) {
  std::vector<std::string> words;
  for (const Setting& one : delivery.environment)
    words.push_back(fmt::format("{}={}", one.name, base::shell_word(one.value)));
  return fmt::format(
      "# Open MPI binds two ranks to one core each, and NCCL's threads then share it\n"
      "mpirun --bind-to none -x {} PROGRAM\n"
      "\n"
      "# Slurm: in the batch file, before srun, which passes the environment on\n"
      "export {}\n"
      "srun PROGRAM\n"
      "\n"
      "# torchrun, on every node\n"
      "{} torchrun --nproc-per-node GPUS PROGRAM\n",
      fmt::join(words, " -x "), fmt::join(words, " "), fmt::join(words, " "));
}

std::string config_value(const ConfigField& field, const Setting& setting) {
  return field.text ? '"' + setting.value + '"' : setting.value;
}

std::optional<std::string> config_code(const Delivery& delivery) {
  auto lines = lines_of(delivery.environment, [](const Setting& one) -> std::optional<std::string> {
    const ConfigField* field = config_field(one);
    return field ? std::optional(
                       fmt::format("config.{} = {};", field->field, config_value(*field, one)))
                 : std::nullopt;
  });
  if (!lines)
    return std::nullopt;
  return also_needed(delivery.environment, false, "//") +
         "// For ncclCommInitRankConfig(). A variable in the environment wins over these fields.\n"
         "ncclConfig_t config = NCCL_CONFIG_INITIALIZER;\n" +
         *lines;
}

// Lines of PyTorch for the options of a step.
struct TorchStep {
  std::string options;   // of the process group
  std::string arguments; // of DistributedDataParallel
  std::string hook;
};

TorchStep torch_step(const std::vector<Setting>& step_options) {
  TorchStep step;
  for (const Setting& one : step_options) {
    if (one.name == "bucket")
      step.arguments = fmt::format(
          ", bucket_cap_mb={:g}",
          static_cast<double>(base::value_or_throw(base::parse_bytes(one.value))) / (1 << 20));
    else if (one.name == "comm-priority")
      step.options = "options.is_high_priority_stream = True\n";
    else if (one.name == "compress")
      step.hook =
          fmt::format("from torch.distributed.algorithms.ddp_comm_hooks import default_hooks\n"
                      "model.register_comm_hook(None, default_hooks.{}_compress_hook)\n",
                      one.value == "f16" ? "fp16" : one.value);
  }
  return step;
}

std::optional<std::string> torch_code(const Delivery& delivery) {
  auto lines = lines_of(delivery.environment, [](const Setting& one) -> std::optional<std::string> {
    const ConfigField* field = config_field(one);
    return field && !field->of_torch.empty()
               ? std::optional(fmt::format("options.config.{} = {}", field->of_torch,
                                           config_value(*field, one)))
               : std::nullopt;
  });
  if (!lines && delivery.step_options.empty())
    return std::nullopt;
  const TorchStep step = torch_step(delivery.step_options);
  return also_needed(delivery.environment, true, "#") +
         "import torch.distributed as dist\n"
         "from torch.nn.parallel import DistributedDataParallel\n\n"
         "options = dist.ProcessGroupNCCL.Options()\n" +
         lines.value_or("") + step.options +
         "dist.init_process_group(\"nccl\", pg_options=options)\n"
         "model = DistributedDataParallel(model" +
         step.arguments + ")\n" + step.hook;
}

} // namespace

std::vector<DeliveredFile> delivered_files(const Delivery& given) {
  std::vector<DeliveredFile> files;
  Delivery delivery = given;
  delivery.environment = without_removed(given.environment);
  const std::vector<std::string> removed = removed_variables(given.environment);
  auto add = [&](const char* name, const char* mark, std::optional<std::string> content) {
    if (content)
      files.push_back({name, commented(delivery, mark) + *content});
  };
  auto add_with_removal = [&](const char* name, const char* mark,
                              const std::optional<std::string>& content) {
    if (content)
      add(name, mark, removal_lines(removed, mark) + *content);
  };
  add_with_removal("nccl.conf", "#", conf_file(delivery));
  if (!given.environment.empty())
    add("settings.sh", "#", shell_file(given.environment));
  if (!delivery.environment.empty())
    add_with_removal("launch.txt", "#", launch_lines(delivery));
  add_with_removal("nccl_config.c", "//", config_code(delivery));
  add_with_removal("ddp.py", "#", torch_code(delivery));
  return files;
}

} // namespace ncclprobe::analysis::tune
