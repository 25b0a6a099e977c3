// SPDX-License-Identifier: Apache-2.0
// serving.encoder: the encoder of images, which runs before the model reads the prompt.
#include "scenarios/format/read/key_tables.h"
#include "scenarios/format/read/read_sections.h"
#include "scenarios/format/read/read_serving.h"

namespace orrery {
namespace {

constexpr Key kEncoderRows[] = {
    entry("model", "models", kModelKeys, "Model that reads images.").required(),
    key<&EncoderSpec::patches>("patches", "Tokens that it reads of an image.")
        .range(1, 1'000'000)
        .of("tokens"),
    key<&EncoderSpec::instances>(
        "instances", "Instances of its own; 0: those of the first pool encode their images.")
        .range(0, 1'000'000)
        .of("instances"),
    key<&EncoderSpec::tensor_model_parallel_size>(
        "tensor_model_parallel_size",
        "Ranks that share an image; the other ranks of a pool's instance repeat it.")
        .range(1, 4096)
        .of("ranks"),
};

}  // namespace

const KeyTable<EncoderSpec> kEncoderKeys =
    key_table<EncoderSpec>("encoder", kEncoderRows, "{model: {…}, instances: 8}");

Transformer read_model_beside(DocumentNode& section,
                              const std::string& path,
                              const ModelSources& sources,
                              Errors& errors) {
    Transformer model;
    std::vector<std::string> of_model;
    read_model(section, sources.catalogue, sources.folder, model, of_model, errors);
    for (const std::string& remark : of_model) {
        sources.remarks.push_back(path + remark);
    }
    return model;
}

void read_encoder(DocumentNode& map,
                  const ModelSources& sources,
                  EncoderSpec& encoder,
                  Errors& errors) {
    if (!map.is_map()) {
        errors.push_back({map.where(),
                          "serving.encoder must be a map, not " + map.describe(),
                          std::string{kEncoderKeys.example}});
        return;
    }
    MapReader reader{map, "serving.encoder", errors};
    read_keys(reader, kEncoderKeys, encoder);
    if (reader.find("model") != nullptr) {
        encoder.model =
            read_model_beside(*map.find("model"), "serving.encoder.", sources, errors);
    }
    reader.finish();
}

}  // namespace orrery
