// Lints OpenAPI descriptions with Redocly's recommended rules, and JSON Schemas with Ajv's strict mode:
//   node lint.mjs openapi.json openapi.yaml policies.schema.json
// Prints each problem, and fails if there is one.
import {readFileSync} from 'node:fs';
import {createConfig, formatProblems, getTotals, lint} from '@redocly/openapi-core';
import Ajv from 'ajv/dist/2020.js';

const rules = await createConfig({extends: ['recommended-strict']});
for (const file of process.argv.slice(2)) {
    if (file.endsWith('.schema.json')) {
        new Ajv({strict: true}).compile(JSON.parse(readFileSync(file, 'utf8')));
    } else {
        const problems = await lint({ref: file, config: rules});
        formatProblems(problems, {totals: getTotals(problems), cwd: process.cwd()});
        process.exitCode ||= problems.length > 0 ? 1 : 0;
    }
}
