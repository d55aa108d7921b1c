// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tuning/table.h"

#include "model/trial.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace ncclprobe::analysis::tune {

// Settings that all ranks of a job get, and what is known of them.
struct Delivery {
  std::vector<model::Setting> environment; // base::k_value_unset: the variable must not be set
  // Of a training step, as `ncclprobe run` names them: "bucket" "50M", "comm-priority", "compress".
  std::vector<model::Setting> step_options;
  tuning::Header about;                      // the head of every file
  std::vector<model::Setting> left_out = {}; // the search found no effect of these
  bool each_change_counts = true;            // otherwise some settings may have no effect
};

struct DeliveredFile {
  std::string name; // in the folder of the delivery
  std::string content;
};

// All names that a file can have.
inline constexpr std::array<std::string_view, 5> k_delivered_names{
    "nccl.conf", "settings.sh", "launch.txt", "nccl_config.c", "ddp.py"};

// The settings in every form in which a job can take them: nccl.conf (NCCL_CONF_FILE; variables of
// NCCL alone), settings.sh (a shell sources it), launch.txt (lines for mpirun, Slurm and torchrun
// to copy), nccl_config.c (fields of ncclConfig_t) and ddp.py (arguments of PyTorch). A form that
// can hold no setting is left out. Options of training steps are arguments of PyTorch
// alone. Nothing to set: no files.
std::vector<DeliveredFile> delivered_files(const Delivery& delivery);

} // namespace ncclprobe::analysis::tune
