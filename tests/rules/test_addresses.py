"""A file of fusepy with more than 100 lines is tested in the file of its name, or it says here where."""

from __future__ import annotations

from tests.rules.tree import REPOSITORY, TEXTS, only

TESTS = REPOSITORY / "tests"
LINES = 100

# What tests the files without a test file of their name. A file that gets one leaves the list.
ELSEWHERE: dict[str, str] = {
    "__init__.py": "rules/test_exports.py",
    "arguments/fields.py": "arguments/test_nested.py",
    "arguments/mapped.py": "arguments/test_mapped_outputs.py",
    "arguments/mapping.py": "arguments/test_mapped_outputs.py",
    "backend/cache/files.py": "backend/cache/test_disk.py",
    "backend/device/block.py": "backend/device/test_pool.py",
    "backend/device/device.py": "backend/device/test_closing.py",
    "backend/device/open.py": "requirements/test_systems.py",
    "backend/device/probe.py": "cli/test_doctor.py",
    "backend/device/recorder.py": "backend/device/test_queue.py",
    "backend/emit/fold/accumulators.py": "backend/emit/fold/test_kernel.py",
    "backend/emit/fold/chunks.py": "backend/emit/fold/test_kernel.py",
    "backend/emit/fold/elements.py": "backend/emit/fold/test_kernel.py",
    "backend/emit/fold/scans.py": "backend/emit/fold/test_kernel.py",
    "backend/emit/fold/tuning.py": "backend/emit/test_tuning.py",
    "backend/emit/operand.py": "backend/emit/test_region.py",
    "backend/emit/shims.py": "backend/emit/test_region.py",
    "backend/emit/statements.py": "backend/emit/test_region.py",
    "backend/emit/store.py": "backend/emit/test_region.py",
    "backend/emit/text.py": "backend/emit/test_region.py",
    "backend/execute/destinations.py": "errors/test_misuse.py",
    "backend/execute/fold_plan.py": "language/test_reductions.py",
    "backend/execute/fold_stages.py": "language/test_reductions.py",
    "backend/execute/launch.py": "backend/execute/test_executable.py",
    "backend/execute/linear.py": "functions/test_function.py",
    "backend/execute/link.py": "backend/execute/test_tape.py",
    "backend/execute/plan.py": "functions/test_fused.py",
    "backend/execute/recipe.py": "backend/marshals/test_array.py",
    "backend/execute/texture_results.py": "backend/marshals/test_texture.py",
    "backend/kernels/kernel.py": "functions/test_fused.py",
    "backend/kernels/plain.py": "backend/kernels/test_raw.py",
    "backend/kernels/resource_slot.py": "backend/marshals/test_resource.py",
    "backend/kernels/resources.py": "backend/marshals/test_resource.py",
    "backend/kernels/slots.py": "backend/kernels/test_globals.py",
    "backend/kernels/values.py": "backend/kernels/test_globals.py",
    "backend/marshals/base.py": "testing/test_conformance.py",
    "backend/marshals/foreign.py": "backend/memory/test_sharing.py",
    "backend/marshals/generators.py": "language/test_generators.py",
    "backend/marshals/grid.py": "language/test_generators.py",
    "backend/marshals/memory.py": "testing/test_conformance.py",
    "backend/marshals/result_kinds.py": "backend/marshals/test_registry.py",
    "backend/marshals/texture_cuda.py": "backend/marshals/test_texture.py",
    "backend/marshals/thread.py": "language/test_generators.py",
    "backend/memory/contents.py": "backend/memory/test_tensor.py",
    "backend/memory/cursor.py": "backend/memory/test_tensor.py",
    "backend/memory/element_cursor.py": "backend/memory/test_tensor.py",
    "backend/memory/element.py": "backend/memory/test_tensor.py",
    "backend/memory/foreign_memory.py": "backend/memory/test_sharing.py",
    "backend/memory/ndbuffer.py": "backend/memory/test_tensor.py",
    "backend/memory/storage.py": "backend/memory/test_tensor.py",
    "backend/memory/texture.py": "backend/marshals/test_texture.py",
    "backend/memory/views.py": "backend/memory/test_tensor.py",
    "backend/slang/comparisons.py": "numbers/test_matrix_ops.py",
    "backend/slang/compiler.py": "backend/slang/test_serialised.py",
    "backend/slang/overloads.py": "ir/resolve/test_on_a_device.py",
    "backend/slang/reflection.py": "ir/resolve/test_on_a_device.py",
    "backend/slang/session.py": "backend/device/test_eviction.py",
    "backend/sources/free_names.py": "backend/sources/test_reachable.py",
    "backend/sources/lacking.py": "numbers/test_doubles.py",
    "backend/sources/closure.py": "backend/slang/test_serialised.py",
    "backend/sources/source.py": "backend/slang/test_serialised.py",
    "cli/darkroom.py": "cli/test_demo.py",
    "cli/drivers.py": "cli/test_doctor.py",
    "cli/picture.py": "cli/test_demo.py",
    "deferred/calls.py": "deferred/test_record.py",
    "deferred/forecast.py": "deferred/test_explain.py",
    "deferred/join.py": "deferred/test_record.py",
    "derivatives/calls.py": "derivatives/test_reverse.py",
    "derivatives/parts.py": "derivatives/test_elementwise.py",
    "derivatives/terms.py": "derivatives/test_reverse.py",
    "errors.py": "errors/test_misuse.py",
    "functions/call.py": "functions/test_function.py",
    "functions/configure.py": "functions/test_configured.py",
    "functions/device_function.py": "functions/test_function.py",
    "functions/dispatch.py": "backend/kernels/test_raw.py",
    "functions/nodes.py": "graphs/test_graph.py",
    "functions/parts.py": "functions/test_lower.py",
    "functions/python_tracer.py": "functions/test_fused.py",
    "functions/slang_tracer.py": "functions/test_function.py",
    "graphs/wiring.py": "graphs/test_graph.py",
    "inspect/anatomy.py": "inspect/page/test_page.py",
    "inspect/chart.py": "inspect/page/test_page.py",
    "inspect/explain.py": "inspect/test_reasons.py",
    "inspect/lowered.py": "functions/test_lower.py",
    "inspect/page/layout.py": "inspect/page/test_page.py",
    "inspect/resolution.py": "ir/resolve/test_on_a_device.py",
    "ir/graph.py": "ir/test_verify.py",
    "ir/names.py": "ir/test_types.py",
    "ir/ops/arithmetic.py": "ir/ops/test_meanings.py",
    "ir/ops/base.py": "ir/ops/test_meanings.py",
    "ir/ops/folds.py": "ir/ops/test_reduce.py",
    "ir/ops/loop_vjp.py": "derivatives/test_reverse.py",
    "ir/ops/math.py": "ir/ops/test_meanings.py",
    "ir/ops/power.py": "numbers/test_powers.py",
    "ir/ops/region.py": "ir/test_verify.py",
    "ir/ops/structure.py": "ir/ops/test_meanings.py",
    "ir/ops/vector.py": "ir/ops/test_meanings.py",
    "ir/ops/vjp.py": "derivatives/test_reverse.py",
    "ir/oracle.py": "backend/slang/test_oracle.py",
    "ir/parse.py": "ir/test_text.py",
    "ir/printer.py": "ir/test_text.py",
    "ir/resolve/hints.py": "ir/resolve/test_refusals.py",
    "ir/resolve/offers.py": "ir/resolve/test_resolve.py",
    "ir/resolve/questions.py": "ir/resolve/test_resolve.py",
    "ir/rules.py": "ir/test_verify.py",
    "ir/syntax.py": "ir/test_text.py",
    "ir/whole.py": "backend/emit/test_array_names.py",
    "language/fold_nodes.py": "language/test_reductions_traced.py",
    "language/math.py": "functions/test_fused.py",
    "modules/module.py": "requirements/test_systems.py",
    "modules/slang_type.py": "modules/test_struct.py",
    "nn/optimisers.py": "nn/test_training.py",
    "nn/parameters.py": "nn/test_training.py",
    "passes/fuse_chains.py": "passes/test_passes.py",
    "passes/partition/draft.py": "passes/test_passes.py",
    "passes/partition/levels.py": "program/test_order_of_writes.py",
    "passes/partition/recompute.py": "passes/test_passes.py",
    "passes/regions.py": "passes/test_passes.py",
    "passes/resolve_maps.py": "passes/test_passes.py",
    "program/delivery.py": "arguments/test_mapped_outputs.py",
    "program/destinations.py": "arguments/test_mapped_outputs.py",
    "program/lowering.py": "program/test_several_kernels.py",
    "program/placement.py": "backend/device/test_uploads.py",
    "program/program.py": "program/test_several_kernels.py",
    "program/relocation.py": "backend/marshals/test_whole.py",
    "program/sized.py": "language/test_generators.py",
    "trace/bodies.py": "language/test_loops.py",
    "trace/carries.py": "language/test_loops.py",
    "trace/gradients.py": "language/test_gradients.py",
    "trace/setup.py": "functions/test_configured.py",
    "trace/standin.py": "ir/resolve/test_on_a_device.py",
    "trace/struct_choice.py": "arguments/test_nested.py",
    "trace/structs.py": "arguments/test_nested.py",
    "trace/trace.py": "functions/test_fused.py",
    "trace/traced.py": "errors/test_values_misused.py",
    "trace/writeback.py": "arguments/test_mapped_outputs.py",
}


def own(path: str) -> str:
    """The test file of a file's name."""
    folder, _, name = path.rpartition("/")
    return f"{folder}/test_{name}".lstrip("/")


def without_own() -> set[str]:
    return {path for path, text in TEXTS.items() if text.count("\n") > LINES and not (TESTS / own(path)).exists()}


def test_every_file_is_tested_where_its_name_says_or_where_the_list_says() -> None:
    only(without_own(), ELSEWHERE)
    assert [test for test in ELSEWHERE.values() if not (TESTS / test).exists()] == []


def test_addresses() -> None:
    assert own("trace/methods.py") == "trace/test_methods.py"
    assert own("location.py") == "test_location.py"
    assert "trace/methods.py" not in without_own()
