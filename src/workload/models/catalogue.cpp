// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/models/catalogue.h"

#include "workload/models/families.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <optional>

namespace ncclprobe::workload {
namespace {

// The selectable sizes.
struct Chosen {
  std::string name;
  std::uint64_t sequence = 0;
  int blocks = 0;
};

struct CatalogueEntry {
  KnownModel known;
  std::function<ModelSpec(const Chosen&)> make;
};

constexpr const char* k_torchvision = "torchvision's table of models and weights";
constexpr const char* k_hugging_face = "Hugging Face model card (safetensors)";

CatalogueEntry vision_transformer(std::string name, std::string about, std::uint64_t parameters,
                                  VitSize size) {
  KnownModel known{.name = std::move(name),
                   .about = std::move(about),
                   .parameters = parameters,
                   .source = k_torchvision,
                   .sequence = 197,
                   .sequence_is_fixed = true,
                   .blocks = size.blocks};
  return {std::move(known), [size](const Chosen& chosen) mutable {
            size.blocks = chosen.blocks;
            return make_vit(chosen.name, size);
          }};
}

using MakeText = ModelSpec (*)(const std::string&, const TextSize&);

// `size.sequence`: the number of its positions.
CatalogueEntry text_model(std::string name, std::string about, std::uint64_t parameters,
                          std::string source, MakeText make, TextSize size) {
  KnownModel known{.name = std::move(name),
                   .about = std::move(about),
                   .parameters = parameters,
                   .source = std::move(source),
                   .sequence = size.sequence,
                   .most_sequence = size.sequence,
                   .blocks = size.blocks};
  return {std::move(known), [size, make](const Chosen& chosen) mutable {
            size.sequence = chosen.sequence;
            size.blocks = chosen.blocks;
            return make(chosen.name, size);
          }};
}

CatalogueEntry llama(std::string name, std::string about, std::uint64_t parameters,
                     LlamaSize size) {
  KnownModel known{.name = std::move(name),
                   .about = std::move(about),
                   .parameters = parameters,
                   .source = k_hugging_face,
                   .sequence = size.sequence,
                   .blocks = size.blocks};
  return {std::move(known), [size](const Chosen& chosen) mutable {
            size.sequence = chosen.sequence;
            size.blocks = chosen.blocks;
            return make_llama(chosen.name, size);
          }};
}

const std::vector<CatalogueEntry>& entries() {
  static const std::vector<CatalogueEntry> all{
      {{.name = "resnet50",
        .about = "torchvision resnet50 (v1.5), 224 x 224",
        .parameters = 25'557'032,
        .source = k_torchvision},
       [](const Chosen& chosen) { return make_resnet50(chosen.name); }},
      vision_transformer("vit-b16", "torchvision vit_b_16, 224 x 224", 86'567'656,
                         {.width = 768, .heads = 12, .blocks = 12}),
      vision_transformer("vit-l16", "torchvision vit_l_16, 224 x 224", 304'326'632,
                         {.width = 1024, .heads = 16, .blocks = 24}),
      text_model("bert-base", "BertModel, bert-base-uncased, with pooler", 109'482'240,
                 "BertModel of bert-base-uncased: num_parameters()", make_bert,
                 {.sequence = 512, .width = 768, .heads = 12, .blocks = 12}),
      text_model("bert-large", "BertModel, bert-large-uncased, with pooler", 335'141'888,
                 "BertModel of bert-large-uncased: num_parameters()", make_bert,
                 {.sequence = 512, .width = 1024, .heads = 16, .blocks = 24}),
      text_model("gpt2-124m", "GPT2LMHeadModel, gpt2, tied head", 124'439'808,
                 "GPT2LMHeadModel of gpt2: num_parameters()", make_gpt2,
                 {.sequence = 1024, .width = 768, .heads = 12, .blocks = 12}),
      text_model("gpt2-1.5b", "GPT2LMHeadModel, gpt2-xl, tied head", 1'557'611'200,
                 "GPT2LMHeadModel of gpt2-xl: num_parameters()", make_gpt2,
                 {.sequence = 1024, .width = 1600, .heads = 25, .blocks = 48}),
      llama("llama2-7b", "LlamaForCausalLM, Llama-2-7b", 6'738'415'616,
            {.sequence = 4096,
             .width = 4096,
             .inner_width = 11008,
             .heads = 32,
             .key_heads = 32,
             .words = 32000,
             .blocks = 32}),
      llama("llama2-13b", "LlamaForCausalLM, Llama-2-13b", 13'015'864'320,
            {.sequence = 4096,
             .width = 5120,
             .inner_width = 13824,
             .heads = 40,
             .key_heads = 40,
             .words = 32000,
             .blocks = 40}),
      llama("llama3-8b", "LlamaForCausalLM, Meta-Llama-3-8B", 8'030'261'248,
            {.sequence = 8192,
             .width = 4096,
             .inner_width = 14336,
             .heads = 32,
             .key_heads = 8,
             .words = 128256,
             .blocks = 32}),
      llama("llama3-70b", "LlamaForCausalLM, Meta-Llama-3-70B", 70'553'706'496,
            {.sequence = 8192,
             .width = 8192,
             .inner_width = 28672,
             .heads = 64,
             .key_heads = 8,
             .words = 128256,
             .blocks = 80}),
      llama("mixtral-8x7b", "MixtralForCausalLM, Mixtral-8x7B-v0.1", 46'702'792'704,
            {.sequence = 4096,
             .width = 4096,
             .inner_width = 14336,
             .heads = 32,
             .key_heads = 8,
             .words = 32000,
             .blocks = 32,
             .experts = 8,
             .experts_per_token = 2}),
      {{.name = "dlrm",
        .about = "dense part of MLPerf's DLRM",
        .parameters = 2'368'897,
        .source = "MLPerf Training 0.7 to 2.1: layers 13-512-256-128 and 479-1024-1024-512-256-1"},
       [](const Chosen& chosen) { return make_dlrm(chosen.name); }},
  };
  return all;
}

template <typename T>
std::optional<T> whole_number(std::string_view text) {
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value <= 0)
    return std::nullopt;
  return value;
}

Result<ModelSpec> linear_stack(std::string_view name, const ModelOptions& options) {
  constexpr std::uint64_t k_most_width = 1 << 20;
  constexpr int k_most_depth = 10'000;
  std::string_view sizes = name.substr(name.find(':') + 1);
  const std::size_t cross = std::min(sizes.find('x'), sizes.size());
  auto width = whole_number<std::uint64_t>(sizes.substr(0, cross));
  auto depth = whole_number<int>(sizes.substr(std::min(cross + 1, sizes.size())));
  if (!width || !depth || *width > k_most_width || *depth > k_most_depth)
    return fail(Errc::invalid_argument,
                "'{}' is not a stack of Linear layers: write linear:WIDTHxDEPTH, such as "
                "linear:4096x16, of at most {}x{}",
                name, k_most_width, k_most_depth);
  if (options.blocks > 0)
    return fail(Errc::invalid_argument, "the name of '{}' gives its depth", name);
  return make_linear_stack(std::string(name), *width, *depth, options.sequence);
}

Result<Chosen> choose(const KnownModel& known, int blocks, std::uint64_t sequence) {
  if (sequence > 0 && sequence != known.sequence) {
    if (known.sequence == 0)
      return fail(Errc::invalid_argument, "{} has no sequence length", known.name);
    if (known.sequence_is_fixed)
      return fail(Errc::invalid_argument, "a sample of {} has {} tokens", known.name,
                  known.sequence);
    if (known.most_sequence > 0 && sequence > known.most_sequence)
      return fail(Errc::invalid_argument, "{} has positions for {} tokens, not {}", known.name,
                  known.most_sequence, sequence);
  }
  if (blocks > known.blocks)
    return known.blocks == 0
               ? fail(Errc::invalid_argument, "{} has no blocks to choose from", known.name)
               : fail(Errc::invalid_argument, "{} has {} blocks, not {}", known.name, known.blocks,
                      blocks);
  Chosen chosen{known.name, sequence > 0 ? sequence : known.sequence,
                blocks > 0 ? blocks : known.blocks};
  if (chosen.blocks != known.blocks)
    chosen.name += fmt::format(":{}", chosen.blocks);
  return chosen;
}

} // namespace

const std::vector<KnownModel>& known_models() {
  static const std::vector<KnownModel> all = [] {
    std::vector<KnownModel> models;
    for (const CatalogueEntry& entry : entries())
      models.push_back(entry.known);
    return models;
  }();
  return all;
}

Result<ModelSpec> make_model(std::string_view name, const ModelOptions& options) {
  const std::size_t colon = std::min(name.find(':'), name.size());
  const std::string_view family = name.substr(0, colon);
  if (family == "linear")
    return linear_stack(name, options);
  const auto& all = entries();
  auto entry = std::ranges::find_if(
      all, [&](const CatalogueEntry& one) { return one.known.name == family; });
  if (entry == all.end()) {
    std::string names;
    for (const CatalogueEntry& one : all)
      names += one.known.name + ", ";
    return fail(Error{Errc::invalid_argument, fmt::format("'{}' is not a known model", name),
                      "known are " + names + "linear:WIDTHxDEPTH"});
  }
  int blocks = options.blocks;
  if (colon < name.size()) {
    auto said = whole_number<int>(name.substr(colon + 1));
    if (!said || (blocks > 0 && blocks != *said))
      return fail(Errc::invalid_argument, "'{}': a number of blocks must follow the colon{}", name,
                  said ? fmt::format(", but {} were requested too", blocks) : "");
    blocks = *said;
  }
  if (blocks < 0)
    return fail(Errc::invalid_argument, "{} blocks of {} are not possible", blocks, family);
  NCCLPROBE_TRY_ASSIGN(const Chosen chosen, choose(entry->known, blocks, options.sequence));
  return entry->make(chosen);
}

} // namespace ncclprobe::workload
