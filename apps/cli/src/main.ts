console.log('matrix')
