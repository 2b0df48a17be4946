/**
 * What every verbs provider has to do, as tests: a provider's own module extends {@link
 * org.nvmf4j.testkit.contract.ProviderContractTest} and says how to open its devices.
 */
@NullMarked
package org.nvmf4j.testkit.contract;

import org.jspecify.annotations.NullMarked;
