// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/models/models_command.h"

#include "base/exit_code.h"
#include "launch/cli/common/command_end.h"
#include "launch/cli/common/help.h"
#include "workload/models/model_file.h"
#include "workload/models/model_text.h"

namespace ncclprobe::cli {
namespace {

base::Result<std::string> document_of(const ModelsOptions& options) {
  const bool json = options.format == "json";
  if (options.model.empty())
    return json ? workload::write_known_models_json() : workload::render_known_models();
  NCCLPROBE_TRY_ASSIGN(const workload::ModelSpec spec,
                       workload::find_model(options.model, {.sequence = options.sequence,
                                                            .blocks = options.blocks}));
  if (!options.buckets)
    return json ? workload::write_model_json(spec) : workload::render_model(spec);
  workload::DdpOptions ddp = workload::ddp_options(options.bucket_bytes);
  ddp.type = options.type;
  ddp.order = options.order;
  return json ? workload::write_ddp_buckets_json(spec, ddp)
              : workload::render_ddp_buckets(spec, ddp);
}

} // namespace

int models_command(const ModelsOptions& options) {
  if (auto possible = check_destination(options.output); !possible)
    return give_up(possible.error());
  base::Result<std::string> document = document_of(options);
  if (!document)
    return give_up(document.error());
  return deliver(options.format == "json" ? *document : within_width(*document), options.output,
                 base::k_exit_ok);
}

} // namespace ncclprobe::cli
