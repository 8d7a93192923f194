# Build with HLOKIT_BENCH=ON; run: permute_bench --numpy bench/permute_numpy.py
add_executable(permute_bench ${CMAKE_SOURCE_DIR}/bench/permute_bench.cc)
target_link_libraries(permute_bench PRIVATE hlokit_tensor)
