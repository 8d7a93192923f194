add_executable(hlo-neff-wrapper ${CMAKE_SOURCE_DIR}/tools/hlo_neff_wrapper.cc)
target_link_libraries(hlo-neff-wrapper PRIVATE hlokit_neuron_ir)
