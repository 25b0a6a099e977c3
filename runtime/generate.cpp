// SPDX-License-Identifier: Apache-2.0
#include "runtime/generate.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "engine/base/check.h"
#include "engine/program/device_scalars.h"
#include "kernels/random.h"
#include "models/lowering/lowering.h"
#include "models/plan/layout.h"
#include "runtime/cpu/cpu_executor.h"
#include "runtime/state/checkpoint_files.h"
#include "runtime/state/held_parameters.h"
#include "runtime/state/redistribute.h"

namespace orrery {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

class TokenStep {
public:
    TokenStep(Executor& executor, const Transformer& model)
        : executor_(executor), model_(model), row_(static_cast<std::size_t>(model.vocab_size)) {}

    // The logits after the last of these tokens, at most seq_length.
    Result<std::span<const float>> logits(std::span<const std::int32_t> tokens) {
        const Program& program = executor_.program();
        for (std::size_t t = 0; t < program.tensors.size(); ++t) {
            const auto id = to_id<TensorId>(t);
            const std::string& name = program.tensors[t].name;
            if (name == "device scalars" && executor_.has(id)) {
                store(executor_.view(id), static_cast<std::int64_t>(DeviceScalar::dropout), 0.0f);
            } else if (name == "tokens") {
                write(id, tokens);
            } else if (name == "labels") {
                write(id, {});
            }
        }
        if (Result<void> done = executor_.run_first_forward(); !done) {
            return unexpected<Error>(done.error());
        }
        std::ranges::fill(row_, kNever);
        for (std::size_t t = 0; t < program.tensors.size(); ++t) {
            if (program.tensors[t].name == "logits") {
                read(to_id<TensorId>(t), static_cast<std::int64_t>(tokens.size()) - 1);
            }
        }
        if (Communicator* ranks = executor_.world()) {
            const Result<void> done = ranks->all_reduce_max(view_of(std::span{row_}));
            if (!done) {
                return unexpected<Error>(done.error());
            }
        }
        return row_;
    }

private:
    // All samples of the first micro-batch are equal. The contents after the tokens do not matter.
    void write(TensorId tensor, std::span<const std::int32_t> tokens) {
        const TensorView to = executor_.view(tensor, 0);
        if (to.empty()) {
            return;
        }
        const auto positions = token_positions(
            executor_.program(), executor_.rank(), executor_.program().tensors[index(tensor)]);
        const std::int64_t batch = to.size / positions.length;
        for (std::int64_t i = 0; i < to.size; ++i) {
            const auto position = static_cast<std::size_t>(positions.of(i / batch));
            const std::int32_t id = position < tokens.size() ? tokens[position] : 0;
            std::memcpy(to.data + i * size_bytes(to.dtype), &id, sizeof(id));
        }
    }

    // Copies this rank's columns of a position into the row, if the rank has the position.
    void read(TensorId tensor, std::int64_t position) {
        const ConstTensorView logits = executor_.read(tensor, 0);
        if (logits.empty()) {
            return;
        }
        const Program& program = executor_.program();
        const Tensor& whole = program.tensors[index(tensor)];
        const LocalShape local = local_shape(program, executor_.rank(), whole);
        const std::int64_t first = local_range(model_.vocab_size,
                                               kWidth,
                                               whole.layout,
                                               program.mesh_of(executor_.rank()),
                                               executor_.rank())
                                       .first;
        for (std::int64_t s = 0; s < local.sequence; ++s) {
            for (std::int64_t c = 0; local.positions.of(s) == position && c < local.width; ++c) {
                row_[static_cast<std::size_t>(first + c)] =
                    load(logits, s * local.batch * local.width + c);
            }
        }
    }

    Executor& executor_;
    const Transformer& model_;
    std::vector<float> row_;
};

}  // namespace

std::int32_t draw_token(std::span<const float> logits,
                        const DrawOptions& options,
                        std::int64_t number) {
    const std::size_t allowed =
        options.vocabulary > 0
            ? std::min(logits.size(), static_cast<std::size_t>(options.vocabulary))
            : logits.size();
    if (options.temperature <= 0) {
        return static_cast<std::int32_t>(std::ranges::max_element(logits.first(allowed)) -
                                         logits.begin());
    }
    std::vector<std::int32_t> order(allowed);
    std::iota(order.begin(), order.end(), 0);
    const auto logit = [&](std::int32_t id) { return logits[static_cast<std::size_t>(id)]; };
    std::ranges::stable_sort(order, [&](auto a, auto b) { return logit(a) > logit(b); });
    if (options.top_k > 0) {
        order.resize(std::min(order.size(), static_cast<std::size_t>(options.top_k)));
    }
    std::vector<double> weights;
    const auto largest = static_cast<double>(logit(order.front()));
    for (const std::int32_t id : order) {
        weights.push_back(
            std::exp((static_cast<double>(logit(id)) - largest) / options.temperature));
    }
    const RandomKey key{.seed = options.seed, .purpose = RandomPurpose::text};
    const auto words = random_words(key, static_cast<std::uint64_t>(number));
    const double share = (static_cast<double>(words[0]) + 0.5) * 0x1p-32;
    double left = share * std::accumulate(weights.begin(), weights.end(), 0.0);
    for (std::size_t i = 0; i + 1 < order.size(); ++i) {
        left -= weights[i];
        if (left < 0) {
            return order[i];
        }
    }
    return order.back();
}

Result<std::vector<std::int32_t>> generate_tokens(Executor& executor,
                                                  const Transformer& model,
                                                  std::vector<std::int32_t> prompt,
                                                  std::int64_t count,
                                                  const DrawOptions& options) {
    ORRERY_CHECK(!prompt.empty());
    if (Result<void> gathered = executor.gather_parameters(); !gathered) {
        return unexpected<Error>(gathered.error());
    }
    TokenStep step{executor, model};
    std::vector<std::int32_t> tokens = std::move(prompt);
    const std::size_t given = tokens.size();
    for (std::int64_t i = 0; i < count; ++i) {
        const std::size_t seen =
            std::min(tokens.size(), static_cast<std::size_t>(model.seq_length));
        const auto logits = step.logits(std::span{tokens}.last(seen));
        if (!logits) {
            return unexpected<Error>(logits.error());
        }
        tokens.push_back(draw_token(*logits, options, i));
    }
    tokens.erase(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(given));
    return tokens;
}

Result<LoadedModel> load_model(const std::filesystem::path& checkpoint) {
    const auto folder = find_checkpoint(checkpoint);
    if (!folder) {
        return unexpected<Error>(folder.error());
    }
    Result<CheckpointFiles> stored = CheckpointFiles::open(*folder);
    if (!stored) {
        return unexpected<Error>(stored.error());
    }
    LoadedModel loaded{.model = stored->run().model, .step = stored->run().step};
    const ParallelPlan plan{
        .micro_batch_size = 1, .global_batch_size = 1, .precision = Dtype::fp32};
    loaded.program = std::make_unique<Program>(lower(loaded.model, plan.launched_from_cpp()));
    auto executor = CpuExecutor::create(*loaded.program, RankId{0});
    if (!executor) {
        return fail(folder->string(), executor.error().what, executor.error().hint);
    }
    loaded.executor = std::move(*executor);
    for (const HeldParameter& p : held_parameters(*loaded.executor)) {
        const auto whole = stored->read_weights(p.name, p.block.rows, p.block.columns);
        if (!whole) {
            return unexpected<Error>(whole.error());
        }
        set_weights(p, *whole);
    }
    return loaded;
}

}  // namespace orrery
