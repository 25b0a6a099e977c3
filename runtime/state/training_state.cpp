// SPDX-License-Identifier: Apache-2.0
#include "runtime/state/training_state.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "engine/base/input_file.h"
#include "runtime/state/checkpoint_files.h"
#include "runtime/state/held_parameters.h"
#include "runtime/state/upcycling.h"
#include "runtime/state/weight_names.h"

namespace orrery {
namespace {

// Returns an error if any rank has one.
Result<void> agree(Executor& executor, Result<void> own) {
    Communicator* ranks = executor.world();
    if (ranks == nullptr) {
        return own;
    }
    float failed = own ? 0.0f : 1.0f;
    const Result<void> told = ranks->all_reduce_max(view_of({&failed, 1}));
    if (!own || !told) {
        return own ? told : own;
    }
    return failed == 0 ? own : fail(another_rank_failed());
}

// Writes a file atomically.
template <class Write>
Result<void> replace_file(FileSystem& files, const std::filesystem::path& name, Write write) {
    const std::filesystem::path path = behind_links(name);
    std::filesystem::path temporary = path;
    temporary += ".tmp";
    Result<void> done = write(temporary);
    done = done ? files.rename(temporary, path) : done;
    if (!done) {
        const Result<void> ignored = files.remove(temporary);  // report the first error only
    }
    return done;
}

// Exported weights replace neither devices nor files of other programs.
Result<void> check_replaceable(const std::filesystem::path& file, const Transformer& model) {
    namespace fs = std::filesystem;
    std::error_code ignored;
    const fs::path config = file.parent_path() / "config.json";
    for (const fs::path& path : {file, config}) {
        if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored)) {
            return fail(path.string(), "is there and is not a file", "choose another name");
        }
    }
    if (file.filename() == "config.json") {
        return fail(file.string(), "is the name of the configuration beside", "another name");
    }
    if (!fs::exists(config, ignored)) {
        return {};
    }
    const std::string text = read_input(config).value_or(std::string{});
    for (const char* type : {"F32", "BF16", "F16"}) {
        if (text == hugging_face_config(model, type)) {
            return {};
        }
    }
    return fail(config.string(),
                "is there and describes another model, or comes from elsewhere",
                "export into another folder, or move it away");
}

}  // namespace

Result<void> save_training(Executor& executor,
                           const RunState& run,
                           const std::filesystem::path& folder,
                           FileSystem& files) {
    const RankOfRun rank{
        .rank = static_cast<std::int64_t>(index(executor.rank())),
        .num_ranks = executor.program().num_ranks(),
        .agree = [&](Result<void> own) { return agree(executor, std::move(own)); }};
    // Updates of other ranks may be gathered only at the start of the next step.
    if (const Result<void> gathered = executor.gather_parameters(); !gathered) {
        return gathered;
    }
    return save_checkpoint(files, folder, run, rank, held_parameters(executor));
}

Result<RunState> resume_training(Executor& executor,
                                 const RunState& run,
                                 const std::filesystem::path& folder) {
    Result<RunState> loaded = fail("", "");
    const Result<std::filesystem::path> checkpoint = find_checkpoint(folder);
    if (checkpoint) {
        loaded = load_checkpoint(*checkpoint,
                                 run,
                                 static_cast<std::int64_t>(index(executor.rank())),
                                 held_parameters(executor));
    } else {
        loaded = unexpected<Error>(checkpoint.error());
    }
    const Result<void> own = loaded ? Result<void>{} : unexpected<Error>(loaded.error());
    if (const Result<void> all = agree(executor, own); !all) {
        return unexpected<Error>(all.error());
    }
    return loaded;
}

ResultOrErrors<std::size_t> import_weights(Executor& executor,
                                           const Transformer& model,
                                           const std::filesystem::path& file) {
    const Result<bool> experts = ImportedWeights::has_experts(file);
    if (!experts) {
        return unexpected<Errors>(Errors{experts.error()});
    }
    const bool upcycles = model.num_experts > 0 && !*experts;
    const Result<Transformer> dense = upcycles ? dense_counterpart(model) : model;
    if (!dense) {
        return unexpected<Errors>(Errors{{file.string(), dense.error().what, dense.error().hint}});
    }
    const auto imported = ImportedWeights::open(file, *dense);
    if (!imported) {
        return unexpected<Errors>(imported.error());
    }
    const std::vector<HeldParameter> parameters = held_parameters(executor);
    for (const HeldParameter& p : parameters) {
        const std::string name = upcycles ? dense_parameter(p.name) : p.name;
        if (name.empty()) {
            continue;
        }
        auto values = imported->parameter(name);
        if (!values) {
            return unexpected<Errors>(Errors{values.error()});
        }
        set_weights(p,
                    for_every_expert(std::move(*values),
                                     static_cast<std::size_t>(p.block.rows * p.block.columns)));
    }
    return parameters.size();
}

Result<ExportedWeights> export_weights(const std::filesystem::path& checkpoint,
                                       const std::filesystem::path& file,
                                       std::string_view type,
                                       FileSystem& files) {
    const auto folder = find_checkpoint(checkpoint);
    if (!folder) {
        return unexpected<Error>(folder.error());
    }
    Result<CheckpointFiles> stored = CheckpointFiles::open(*folder);
    if (!stored) {
        return unexpected<Error>(std::move(stored.error()));
    }
    const Transformer& model = stored->run().model;
    const auto weights = hugging_face_weights(model);
    if (!weights) {
        return fail(folder->string(), weights.error().what, weights.error().hint);
    }
    if (const Result<void> replaceable = check_replaceable(file, model); !replaceable) {
        return unexpected<Error>(replaceable.error());
    }
    std::vector<std::vector<std::byte>> bytes;
    std::vector<float> parameter;
    for (std::size_t i = 0; i < weights->size(); ++i) {
        const NamedWeight& weight = (*weights)[i];
        if (i == 0 || weight.parameter != (*weights)[i - 1].parameter) {
            auto read = stored->read_weights(weight.parameter, weight.rows, weight.columns);
            if (!read) {
                return unexpected<Error>(std::move(read.error()));
            }
            parameter = std::move(*read);
        }
        bytes.push_back(stored_floats(take(weight, parameter), type));
    }
    std::vector<TensorToStore> tensors;
    for (std::size_t i = 0; i < weights->size(); ++i) {
        const NamedWeight& weight = (*weights)[i];
        tensors.push_back({weight.name, std::string{type}, weight.shape, bytes[i]});
    }
    const std::string config = hugging_face_config(model, type);
    Result<void> done = replace_file(files, file, [&](const std::filesystem::path& path) {
        return write_safetensors(files, path, tensors, {{"format", "pt"}});
    });
    if (done) {
        const std::filesystem::path beside = file.parent_path() / "config.json";
        done = replace_file(files, beside, [&](const std::filesystem::path& path) {
            return files.write_file(path, {std::as_bytes(std::span{config})});
        });
    }
    if (!done) {
        return unexpected<Error>(std::move(done.error()));
    }
    return ExportedWeights{stored->run().step, tensors.size(), num_parameters(model)};
}

}  // namespace orrery
