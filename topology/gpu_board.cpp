// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/gpu_board.h"

#include "knowledge/gpu_models.h"

#include <algorithm>
#include <cctype>
#include <vector>

namespace ncclprobe::topology {
namespace {

using knowledge::GpuModel;
using Models = std::vector<const GpuModel*>;

bool uses_nvswitches(const GpuModel& model) {
  return model.nvlink && model.nvlink->via.find("NVSwitch") != std::string::npos;
}

GpuBoard board_of(const GpuModel& model) {
  if (uses_nvswitches(model) || model.form_factor.starts_with("SXM"))
    return GpuBoard::module;
  return model.form_factor.starts_with("PCIe card") ? GpuBoard::card : GpuBoard::unknown;
}

bool has_word(std::string text, std::string_view word) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text.find(word) != std::string::npos;
}

// Since Hopper the driver's name of a module lacks a word that a card's name has: "NVIDIA H200" and
// "NVIDIA H200 NVL", "NVIDIA H800" and "NVIDIA H800 PCIe".
bool is_card_of_another_name(const GpuModel& model, const std::string& driver_name) {
  auto only_model_has = [&](std::string_view word) {
    return has_word(model.name, word) && !has_word(driver_name, word);
  };
  return driver_name.starts_with("NVIDIA ") && model.capability.major >= 9 &&
         board_of(model) == GpuBoard::card && (only_model_has("nvl") || only_model_has("pcie"));
}

// The driver reports every link that the chip has.
bool has_fewer_links(const GpuModel& model, std::optional<int> reported) {
  return reported && model.nvlink && model.nvlink->links && *model.nvlink->links < *reported;
}

Models possible_models(const GpuBoardSigns& signs) {
  if (signs.pci_device_id)
    if (const GpuModel* model = knowledge::gpu_model_of_device(*signs.pci_device_id))
      return {model};
  Models models = knowledge::find_gpu_models(signs.name);
  auto leave_out = [&](auto is_excluded) { // unless that would leave none
    Models others = models;
    std::erase_if(others, [&](const GpuModel* model) { return is_excluded(*model); });
    if (!others.empty())
      models = std::move(others);
  };
  leave_out([&](const GpuModel& model) { return has_fewer_links(model, signs.links); });
  leave_out([&](const GpuModel& model) { return is_card_of_another_name(model, signs.name); });
  return models;
}

std::optional<int> published_links(const Models& models) {
  std::optional<int> links;
  for (const GpuModel* model : models) {
    if (!uses_nvswitches(*model) || !model->nvlink->links ||
        (links && *links != *model->nvlink->links))
      return std::nullopt;
    links = model->nvlink->links;
  }
  return links;
}

} // namespace

GpuMounting gpu_mounting(const GpuBoardSigns& signs) {
  Models models = possible_models(signs);
  auto all = [&](auto applies) {
    return !models.empty() &&
           std::ranges::all_of(models, [&](const GpuModel* model) { return applies(*model); });
  };
  GpuMounting mounting;
  mounting.published_links = published_links(models);
  mounting.never_has_nvlinks =
      all([](const GpuModel& model) { return model.nvlink && !model.nvlink->present; });
  for (GpuBoard board : {GpuBoard::module, GpuBoard::card})
    if (all([&](const GpuModel& model) { return board_of(model) == board; }))
      mounting.board = board;
  if (signs.behind_nvswitches)
    mounting.board = GpuBoard::module;
  return mounting;
}

} // namespace ncclprobe::topology
