// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/models/models_command.h"

#include "base/exit_code.h"
#include "launch/cli/common/command_end.h"
#include "launch/cli/common/file_kind.h"
#include "launch/cli/models/model_report.h"
#include "workload/models/model_file.h"

namespace ncclprobe::cli {
namespace {

base::Result<int> show_models(const ModelsOptions& options) {
  if (options.model.empty())
    return deliver(known_models_report(), options, base::k_exit_ok);
  NCCLPROBE_TRY_ASSIGN(const workload::ModelSpec spec,
                       workload::find_model(options.model, {.sequence = options.sequence,
                                                            .blocks = options.blocks}));
  if (options.buckets) {
    workload::DdpOptions ddp = workload::ddp_options(options.bucket_bytes);
    ddp.type = options.type;
    ddp.order = options.order;
    return deliver(ddp_buckets_report(spec, ddp), options, base::k_exit_ok);
  }
  if (options.format == "json") // a model file
    return deliver(workload::write_model_json(spec), options.output, base::k_exit_ok);
  return deliver(model_report(spec), options, base::k_exit_ok);
}

} // namespace

int models_command(const ModelsOptions& options) {
  if (auto possible = check_destination(options.output); !possible)
    return give_up(possible.error());
  const base::Result<int> shown = show_models(options);
  return shown ? *shown : give_up(with_right_command(shown.error(), options.model));
}

} // namespace ncclprobe::cli
