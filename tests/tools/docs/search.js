// SPDX-License-Identifier: MIT
// What the site's search, which the browser runs, finds first: a page, and on it an entry or a heading.
//
// usage: node search.js SITE [QUERY]     with a query, prints its first results instead
"use strict";

const fs = require("fs");
const path = require("path");
const vm = require("vm");

const EXPECTED = [
  // names as they are
  ["Blob", "reference/exchange/blob", "Blob"],
  ["TensorPtr", "reference/tensor/tensor", "TensorPtr"],
  ["EValue", "reference/module/evalue", "EValue"],
  ["ScalarType", "reference/core/scalar_type", "ScalarType"],
  ["clone", "reference/tensor/clone", "clone"],
  ["reshape", "reference/tensor/contiguous", "reshape"],
  ["stride", "reference/tensor/tensor_impl", "TensorMetadata::stride"],
  ["numel", "reference/tensor/tensor_impl", "TensorMetadata::numel"],
  ["mutable_data_ptr", "reference/tensor/tensor", "Tensor::mutable_data_ptr"],
  ["from_blob", "reference/tensor/tensor_ptr_maker", "from_blob"],
  ["tenon::arange", "reference/tensor/sequence", "arange"],
  ["allclose", "reference/tensor/values", "allclose"],
  ["last_error_message", "reference/core/error", "last_error_message"],
  ["TENON_HEAP", "reference/macros", "TENON_HEAP"],
  // parts of names, and names without underscores
  ["resize", "reference/tensor/resize", "resize_tensor_ptr"],
  ["contig", "reference/tensor/contiguous", "contiguous"],
  ["arena", "reference/backend/arena", "ArenaBackend"],
  ["from blob", "reference/tensor/tensor_ptr_maker", "from_blob"],
  ["make tensor ptr", "reference/tensor/tensor_ptr", "make_tensor_ptr"],
  ["scalar type", "reference/core/scalar_type", "ScalarType"],
  ["read npy", "reference/interop/npy", "read_npy"],
  ["error name", "reference/core/error", "toString"],
  // tasks
  ["numpy to tensor", "docs/python"],
  ["padded rows", "docs/raw_vectors"],
  ["who frees", "docs/ownership"],
  ["torch.save", "docs/torch_file"],
  ["no heap", "docs/embedded"],
  ["camera", "docs/start"],
  ["thread", "docs/threads"],
  ["opencv", "docs/recipes", "Recipes: from each library to each > OpenCV"],
  ["exceptions", "docs/errors"],
  ["leak", "docs/debugging"],
  ["install", "docs/building"],
  ["vcpkg", "docs/packages"],
  ["gpu", "docs/cuda"],
  ["nms", "docs/after_model"],
  ["custom allocator", "docs/backends"],
  ["compile time", "docs/performance"],
  ["shared memory", "docs/distributed"],
  ["microcontroller", "docs/embedded"],
];

// The scripts that search.html loads, without what shows the results.
function loadSearch(site) {
  const context = vm.createContext({
    document: { getElementById: () => null }, localStorage: { setItem() {} }, SPHINX_HIGHLIGHT_ENABLED: false,
    _ready() {}, _: text => text,
  });
  vm.runInContext("var window = globalThis;", context);
  for (const script of ["_static/searchtools.js", "_static/language_data.js", "searchindex.js"])
    vm.runInContext(fs.readFileSync(path.join(site, script), "utf8"), context, { filename: script });
  return query => vm.runInContext("query => Search._performSearch(...Search._parseQuery(query)).reverse()", context)(query);
}

function main([site, query]) {
  if (!site) {
    console.error("usage: node search.js SITE [QUERY]");
    return 2;
  }
  if (!fs.existsSync(path.join(site, "searchindex.js"))) {
    console.log("tenon: skipped: the site was not built");
    return 77;
  }
  const search = loadSearch(site);
  if (query) {
    for (const [page, title, , about, score] of search(query).slice(0, 12))
      console.log(score.toFixed(1), page, "|", title, "|", about);
    return 0;
  }
  let faults = 0;
  for (const [asked, page, title] of EXPECTED) {
    const [first] = search(asked);
    if (first && first[0] === page && (!title || first[1].replace(/\(.*/, "") === title)) continue;
    console.log(`"${asked}" finds ${first ? `${first[1]} (${first[0]})` : "nothing"}, not ${title ?? ""} (${page})`);
    ++faults;
  }
  console.log(`${EXPECTED.length - faults} of ${EXPECTED.length} queries`);
  return faults ? 1 : 0;
}

process.exitCode = main(process.argv.slice(2));
